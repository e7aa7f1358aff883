import { MEDIA_TYPES } from "@colloquy/protocol/media-types";
import { mkdir, symlink } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import { builtInTools } from "@colloquy/engine/internal/tools/built-in/built-in-tools";
import { BUILT_IN_TOOLS } from "@colloquy/engine/internal/config/app-schema";
import { changedFiles } from "@colloquy/engine/internal/config/file-stamps";
import { loadConfig } from "./load-config.ts";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { inside, write, loaded, problems, warnings } = useConfigDirectory();

/** Tool settings with these built-in tools only. */
function toolSettings(...builtIn: readonly string[]) {
  return { builtIn, own: {}, sources: [], wallet: null, effects: {}, approvals: {} };
}

describe("without a file", () => {
  it("uses the defaults of the contract", async () => {
    const config = await loaded();
    expect(config.server).toEqual({
      host: "127.0.0.1",
      loopback: true,
      signInDomains: [],
      port: 8080,
      dataDirectory: inside("data"),
      allowedHosts: [],
      trustedProxies: [],
      corsOrigins: [],
      walletListing: "on",
      logLevel: "info",
      rateLimits: {
        chatsPerMinute: 60,
        keyChatsPerMinute: 6_000,
        newSessionsPerMinute: 120,
        readsPerMinute: 30_000,
        sessionReadsPerMinute: 12_000,
        writesPerMinute: 1_200,
        sessionWritesPerMinute: 240,
        writtenBytesPerMinute: 134_217_728,
        appWrittenBytesPerMinute: 1_073_741_824,
        streamsPerAddress: 100,
        streamsPerSession: 10,
        connectionsPerAddress: 256,
        bodyBytesPerAddress: 67_108_864,
      },
    });
    expect(config.apps).toEqual({
      default: {
        description: null,
        models: ["demo/assistant"],
        utilityModel: "demo/assistant",
        instructions: null,
        tools: { ...toolSettings("current_time", "calculator"), isUnconfigured: true },
        onBusy: "enqueue",
        compaction: "summary",
        expiry: { emptyMs: 3_600_000, unboundMs: 2_592_000_000 },
        secrets: [],
        users: null,
        wallets: "claimed",
        requireKey: "chat",
        rateLimits: {},
      },
    });
    expect(config.providers).toEqual({ demo: { kind: "demo" } });
    expect(config.limits).toEqual({
      fileBytes: 20_971_520,
      fileTypes: MEDIA_TYPES,
      appFileBytes: 10_737_418_240,
      ownerFileBytes: 1_073_741_824,
      turnMs: 600_000,
      idleMs: 300_000,
      maxSteps: 20,
      toolMs: 60_000,
      maxQueued: 10,
      sessionBytes: 16 * 1024 * 1024,
      maxRunning: 256,
      maxWaiting: 10_000,
      memoryBytes: 268_435_456,
      idleMemoryMs: 1_800_000,
      maxModelRetries: 3,
      bodyBytes: 268_435_456,
      actionMs: 600_000,
    });
    expect(config.retention).toEqual({ events: 1000, eventMs: 86_400_000, auditDays: 365 });
    expect(await warnings()).toEqual([]);
  });

  it("offers one model for each provider with a key, the demo last", async () => {
    const config = await loaded({ GEMINI_API_KEY: "g", ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" });
    const { models, utilityModel } = config.apps["default"]!;
    expect(models.map((rig) => rig.split("/")[0])).toEqual(["openai", "anthropic", "google", "demo"]);
    expect(utilityModel).toBe(models[0]);
    expect(Object.keys(config.providers).toSorted()).toEqual(["anthropic", "demo", "google", "openai"]);
    expect(config.secrets.reveal()["anthropic"]?.apiKey).toBe("a");
    expect(config.secrets.reveal()["google"]?.apiKey).toBe("g");
  });

  it("treats an empty variable as unset", async () => {
    const config = await loaded({ OPENAI_API_KEY: " ", PORT: "", HOST: "", COLLOQUY_DATABASE_URL: "" });
    expect(config.apps["default"]!.models).toEqual(["demo/assistant"]);
    expect(config.server.port).toBe(8080);
  });

  it("freezes the whole configuration", async () => {
    const config = await loaded();
    expect(Object.isFrozen(config.apps["default"]!.expiry)).toBe(true);
    expect(Object.isFrozen(config.server.allowedHosts)).toBe(true);
    expect(Object.isFrozen(config.providers["demo"])).toBe(true);
  });
});

describe("a file", () => {
  const everything = {
    apps: {
      default: {
        description: "For trying out",
        models: ["local/llama3.2:3b", "demo/assistant"],
        utilityModel: "demo/assistant",
        instructions: "Be brief.",
        tools: ["calculator", "calculator"],
        onBusy: "reject",
        compaction: "cut",
        expiry: { unboundMs: 1000 },
        rateLimits: { chatsPerMinute: 600 },
      },
    },
    providers: {
      local: {
        kind: "openai-compatible",
        baseURL: "http://127.0.0.1:11434/v1",
        apiKeyEnv: "LOCAL_KEY",
        headers: { "X-Team": "blue" },
        maxRunningTurns: 4,
        contextWindow: 16_384,
      },
    },
    cors: { origins: ["https://app.example.com"] },
    walletListing: "off",
    limits: { maxSteps: 5 },
    rateLimits: { newSessionsPerMinute: 500 },
    retention: { events: 10 },
  };

  it("supports all settings", async () => {
    await write("colloquy.config.json", everything);
    const config = await loaded({ LOCAL_KEY: "secret" });
    expect(config.apps).toEqual({
      default: {
        ...everything.apps.default,
        tools: toolSettings("calculator"),
        expiry: { emptyMs: 3_600_000, unboundMs: 1000 },
        secrets: [],
        users: null,
        wallets: "claimed",
        requireKey: "chat",
      },
    });
    expect(config.providers).toEqual({
      demo: { kind: "demo" },
      local: {
        kind: "openai-compatible",
        baseURL: "http://127.0.0.1:11434/v1",
        maxRunningTurns: 4,
        contextWindow: 16_384,
      },
    });
    expect(config.secrets.reveal()["local"]).toEqual({ apiKey: "secret", headers: { "X-Team": "blue" } });
    expect(config.server).toMatchObject({ corsOrigins: ["https://app.example.com"], walletListing: "off" });
    expect(config.limits).toMatchObject({ maxSteps: 5, maxRunning: 256 });
    expect(config.server.rateLimits).toMatchObject({ newSessionsPerMinute: 500, chatsPerMinute: 60 });
    expect(config.retention).toEqual({ events: 10, eventMs: 86_400_000, auditDays: 365 });
  });

  it.each([
    [
      "colloquy.config.ts",
      "const text: string = 'ts';\nexport default { apps: { default: { instructions: text } } };",
    ],
    ["colloquy.config.js", "export default { apps: { default: { instructions: 'js' } } };"],
    ["colloquy.config.json", '\uFEFF{ "apps": { "default": { "instructions": "json" } } }'],
  ])("is found under the name %s", async (name, content) => {
    await write("package.json", { type: "module" });
    await write(name, content);
    const config = await loaded();
    expect(config.apps["default"]!.instructions).toBe(name.split(".").at(-1));
  });

  it("is preferred in TypeScript over JSON, with a warning", async () => {
    await write("package.json", { type: "module" });
    await write("colloquy.config.ts", "export default {};");
    await write("colloquy.config.json", "{}");
    expect(await warnings()).toEqual([
      "colloquy.config.json is not read, because there is also colloquy.config.ts.",
    ]);
  });

  it("is read from the path in COLLOQUY_CONFIG", async () => {
    await write("other.json", { limits: { maxSteps: 3 } });
    await write("colloquy.config.json", "this is not read");
    expect((await loaded({ COLLOQUY_CONFIG: "other.json" })).limits.maxSteps).toBe(3);
    expect((await loaded({ COLLOQUY_CONFIG: inside("other.json") })).limits.maxSteps).toBe(3);
  });

  it("must exist if COLLOQUY_CONFIG names it", async () => {
    expect(await problems({ COLLOQUY_CONFIG: "gone.json" })).toEqual([
      `: There is no file at ${inside("gone.json")}. Set COLLOQUY_CONFIG to one, or unset it.`,
    ]);
    expect((await problems({ COLLOQUY_CONFIG: "config.yaml" }))[0]).toContain("must end in .json");
  });

  it.each(["folder.json", "folder.mjs"])("is rejected if it is a directory: %s", async (name) => {
    await mkdir(inside(name));
    expect(await problems({ COLLOQUY_CONFIG: name })).toEqual([
      `: ${inside(name)} cannot be used: it is a directory and no file. Set COLLOQUY_CONFIG to a file that the user of the service may read.`,
    ]);
  });

  it("is reported if it is a link that leads nowhere", async () => {
    await symlink(inside("gone.json"), inside("colloquy.config.json"));
    expect((await problems())[0]).toContain("there is no such file or directory");
  });

  it("is reported with line and column, without its text, if it is not valid JSON", async () => {
    await write("colloquy.config.json", '{\n  "providers": { "x": "sk-secret" },\n  "apps": oops\n}\n');
    expect(await problems()).toEqual(["line 3, column 11: Unexpected token 'o'."]);
  });

  it("is reported with its line if it throws, has no default export or contains a syntax error", async () => {
    await write("package.json", { type: "module" });
    await write("colloquy.config.ts", "const x = 1;\nthrow new Error('no ' + x);");
    expect(await problems()).toEqual(["line 2, column 7: Error: no 1."]);
    await write("a.ts", "export const apps = {};");
    expect((await problems({ COLLOQUY_CONFIG: "a.ts" }))[0]).toContain("no default export");
    await write("b.mjs", "export default () => ({});");
    expect((await problems({ COLLOQUY_CONFIG: "b.mjs" }))[0]).toContain("exports a function");
  });

  it("may export a promise of the configuration", async () => {
    await write("a.mjs", "export default Promise.resolve({ apps: { default: {}, shop: {} } });");
    expect(Object.keys((await loaded({ COLLOQUY_CONFIG: "a.mjs" })).apps)).toEqual(["default", "shop"]);
  });

  it("is reported if a getter or a proxy throws", async () => {
    const getter = 'get tools() { throw new Error("ha"); }';
    await write("a.mjs", `export default { apps: { default: { ${getter} }, shop: {} } };`);
    expect(await problems({ COLLOQUY_CONFIG: "a.mjs" })).toEqual([": cannot be read: Error: ha."]);
    await write("c.mjs", "export default { get cors() { throw 7; } };");
    expect(await problems({ COLLOQUY_CONFIG: "c.mjs" })).toEqual([
      ": cannot be read: threw a value that is not an Error while loading.",
    ]);
    await write("b.mjs", "export default new Proxy({}, { ownKeys() { throw new TypeError('no'); } });");
    expect(await problems({ COLLOQUY_CONFIG: "b.mjs" })).toEqual([": cannot be read: TypeError: no."]);
  });

  it("is rejected with the class name if a setting is a class instance", async () => {
    await write("a.mjs", "export default { apps: new Map(), providers: new (class {})() };");
    expect(await problems({ COLLOQUY_CONFIG: "a.mjs" })).toEqual([
      "apps: must be an object, not an instance of Map.",
      "providers: must be an object, not an instance of a class.",
    ]);
  });

  it("may change a known provider without setting its kind", async () => {
    await write("colloquy.config.json", { providers: { openai: { apiKeyEnv: "MINE", maxRunningTurns: 2 } } });
    const config = await loaded({ MINE: "k", OPENAI_API_KEY: "other" });
    expect(config.providers["openai"]).toEqual({ kind: "openai", maxRunningTurns: 2 });
    expect(config.secrets.reveal()["openai"]?.apiKey).toBe("k");
    expect(config.apps["default"]!.models[0]).toMatch(/^openai\//);
  });
});

it("notices a document that changes while it is read", async () => {
  await write("pets.json", "{}");
  await write(
    "colloquy.config.mjs",
    `export default {
      apps: { default: { openapi: { pets: { document: "./pets.json" } }, tools: { work: { inputSchema: {}, execute() {} } } } },
    };`,
  );
  const { files } = await loadConfig({
    environment: {},
    workingDirectory: inside("."),
    inspections: {
      wallet: () => null,
      ownTool: async () => (await write("pets.json", '{"edited": true}'), null),
    },
  });
  expect(changedFiles(files)).toEqual([inside("pets.json")]);
});

it("accepts exactly the names of the built-in tools", () => {
  const clock = { now: () => 0 } as Clock;
  expect(Object.keys(builtInTools(clock)).toSorted()).toEqual([...BUILT_IN_TOOLS].toSorted());
});
