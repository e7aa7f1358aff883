import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Clock } from "../core/ports/clock.ts";
import { builtInTools } from "../tools/built-in/built-in-tools.ts";
import type { Config } from "./config.ts";
import { BUILT_IN_TOOLS } from "./app-schema.ts";
import { loadConfig } from "./load-config.ts";
import { formatProblems } from "./problem.ts";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-config-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

type Environment = Readonly<Record<string, string>>;

async function load(environment: Environment = {}) {
  return loadConfig({ environment, workingDirectory: directory });
}

async function loaded(environment: Environment = {}): Promise<Config> {
  const result = await load(environment);
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.config;
}

/** Every problem as `place: message`. */
async function problems(environment: Environment = {}): Promise<string[]> {
  const result = await load(environment);
  return result.ok ? [] : result.problems.map(({ place, message }) => `${place}: ${message}`);
}

async function warnings(environment: Environment = {}): Promise<readonly string[]> {
  const result = await load(environment);
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.warnings;
}

async function write(name: string, content: unknown): Promise<void> {
  await writeFile(join(directory, name), typeof content === "string" ? content : JSON.stringify(content));
}

/** The built-in tools of these names, and no others. */
function toolSettings(...builtIn: readonly string[]) {
  return { builtIn, own: {}, mcp: {}, openapi: {}, wallet: null, effects: {}, approvals: {} };
}

describe("without a file", () => {
  it("the defaults of the contract are in force", async () => {
    const config = await loaded();
    expect(config.server).toEqual({
      host: "127.0.0.1",
      loopback: true,
      port: 8080,
      dataDirectory: join(directory, "data"),
      allowedHosts: [],
      trustedProxies: [],
      corsOrigins: [],
      walletListing: "on",
      logLevel: "info",
    });
    expect(config.apps).toEqual({
      default: {
        description: null,
        models: ["demo/assistant"],
        utilityModel: "demo/assistant",
        instructions: null,
        tools: toolSettings("current_time", "calculator"),
        onBusy: "enqueue",
        expiry: { emptyMs: 3_600_000, unboundMs: 2_592_000_000 },
        secrets: [],
        requireKey: "chat",
      },
    });
    expect(config.providers).toEqual({ demo: { kind: "demo" } });
    expect(config.limits).toEqual({
      turnMs: 600_000,
      idleMs: 300_000,
      maxSteps: 20,
      toolMs: 60_000,
      maxQueued: 10,
      maxRunning: 256,
      maxWaiting: 10_000,
      memoryBytes: 268_435_456,
      idleMemoryMs: 1_800_000,
      maxModelRetries: 3,
      actionMs: 600_000,
    });
    expect(config.retention).toEqual({ events: 1000, eventMs: 86_400_000 });
    expect(await warnings()).toEqual([]);
  });

  it("every provider with its usual key offers a model, the demo stands last", async () => {
    const config = await loaded({ GEMINI_API_KEY: "g", ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" });
    const { models, utilityModel } = config.apps["default"]!;
    expect(models.map((rig) => rig.split("/")[0])).toEqual(["openai", "anthropic", "google", "demo"]);
    expect(utilityModel).toBe(models[0]);
    expect(Object.keys(config.providers).toSorted()).toEqual(["anthropic", "demo", "google", "openai"]);
    expect(config.secrets.provider("anthropic").apiKey).toBe("a");
    expect(config.secrets.provider("google").apiKey).toBe("g");
  });

  it("an empty variable counts as one that is not set", async () => {
    const config = await loaded({ OPENAI_API_KEY: " ", PORT: "", HOST: "", COLLOQUY_DATABASE_URL: "" });
    expect(config.apps["default"]!.models).toEqual(["demo/assistant"]);
    expect(config.server.port).toBe(8080);
  });

  it("the whole of it is frozen", async () => {
    const config = await loaded();
    expect(Object.isFrozen(config.apps["default"]!.expiry)).toBe(true);
    expect(Object.isFrozen(config.server.allowedHosts)).toBe(true);
    expect(Object.isFrozen(config.providers["demo"])).toBe(true);
  });
});

describe("the environment", () => {
  it("says where the service listens and whom it trusts", async () => {
    const { server } = await loaded({
      PORT: "0",
      HOST: "[::1]",
      COLLOQUY_DATA_DIR: "some/where",
      COLLOQUY_ALLOWED_HOSTS: "Chat.example.test, other.test:8080 ,, ::1, [::1]:80",
      COLLOQUY_TRUSTED_PROXIES: "10.0.0.0/8,192.0.2.7,2001:DB8::/32",
      COLLOQUY_LOG_LEVEL: "DEBUG",
    });
    expect(server).toMatchObject({
      port: 0,
      host: "::1",
      loopback: true,
      dataDirectory: join(directory, "some/where"),
      allowedHosts: ["chat.example.test", "other.test", "::1", "::1"],
      trustedProxies: ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"],
      logLevel: "debug",
    });
  });

  it.each([
    ["localhost", true],
    ["chat.localhost", true],
    ["127.1.2.3", true],
    ["::1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["127.example.test", false],
    ["10.0.0.1", false],
  ])("bound to %s can be reached from this machine only: %s", async (HOST, loopback) => {
    expect((await loaded({ HOST })).server.loopback).toBe(loopback);
  });

  it.each([
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "1e3"],
    ["HOST", "http://127.0.0.1"],
    ["HOST", "127.0.0.1:80"],
    ["HOST", "1.2.3"],
    ["COLLOQUY_ALLOWED_HOSTS", "good.test,https://bad.test"],
    ["COLLOQUY_ALLOWED_HOSTS", "good.test:99999"],
    ["COLLOQUY_TRUSTED_PROXIES", "10.0.0.0/33"],
    ["COLLOQUY_TRUSTED_PROXIES", "proxy.test"],
    ["COLLOQUY_TRUSTED_PROXIES", "::1/129"],
    ["COLLOQUY_LOG_LEVEL", "loud"],
    ["COLLOQUY_DATABASE_URL", "localhost/x"],
    ["COLLOQUY_DATABASE_URL", "mysql://localhost/x"],
    ["COLLOQUY_DATABASE_URL", "postgres://user:p#1@localhost/x"],
    ["COLLOQUY_NATS_URL", "nats://localhost"],
  ])("does not start with %s=%s", async (name, value) => {
    const found = await problems({ [name]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${name}: .+\\.$`));
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
        expiry: { unboundMs: 1000 },
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
    retention: { events: 10 },
  };

  it("says all that it can say", async () => {
    await write("colloquy.config.json", everything);
    const config = await loaded({ LOCAL_KEY: "secret" });
    expect(config.apps).toEqual({
      default: {
        ...everything.apps.default,
        tools: toolSettings("calculator"),
        expiry: { emptyMs: 3_600_000, unboundMs: 1000 },
        secrets: [],
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
    expect(config.secrets.provider("local")).toEqual({ apiKey: "secret", headers: { "X-Team": "blue" } });
    expect(config.server).toMatchObject({ corsOrigins: ["https://app.example.com"], walletListing: "off" });
    expect(config.limits).toMatchObject({ maxSteps: 5, maxRunning: 256 });
    expect(config.retention).toEqual({ events: 10, eventMs: 86_400_000 });
  });

  it.each([
    [
      "colloquy.config.ts",
      "const text: string = 'ts';\nexport default { apps: { default: { instructions: text } } };",
    ],
    ["colloquy.config.js", "export default { apps: { default: { instructions: 'js' } } };"],
    ["colloquy.config.json", '\uFEFF{ "apps": { "default": { "instructions": "json" } } }'],
  ])("is found as %s", async (name, content) => {
    await write("package.json", { type: "module" });
    await write(name, content);
    const config = await loaded();
    expect(config.apps["default"]!.instructions).toBe(name.split(".").at(-1));
  });

  it("in TypeScript comes before one in JSON, which is warned about", async () => {
    await write("package.json", { type: "module" });
    await write("colloquy.config.ts", "export default {};");
    await write("colloquy.config.json", "{}");
    expect(await warnings()).toEqual([
      "colloquy.config.json is not read, because there is also colloquy.config.ts.",
    ]);
  });

  it("may stand anywhere when COLLOQUY_CONFIG says where", async () => {
    await write("other.json", { limits: { maxSteps: 3 } });
    await write("colloquy.config.json", "this is not read");
    expect((await loaded({ COLLOQUY_CONFIG: "other.json" })).limits.maxSteps).toBe(3);
    expect((await loaded({ COLLOQUY_CONFIG: join(directory, "other.json") })).limits.maxSteps).toBe(3);
  });

  it("that COLLOQUY_CONFIG names must be there", async () => {
    expect(await problems({ COLLOQUY_CONFIG: "gone.json" })).toEqual([
      `: There is no file at ${join(directory, "gone.json")}. Set COLLOQUY_CONFIG to one, or unset it.`,
    ]);
    expect((await problems({ COLLOQUY_CONFIG: "config.yaml" }))[0]).toContain("must end in .json");
  });

  it.each(["folder.json", "folder.mjs"])(
    "that is a directory is refused with what to do: %s",
    async (name) => {
      await mkdir(join(directory, name));
      expect(await problems({ COLLOQUY_CONFIG: name })).toEqual([
        `: ${join(directory, name)} cannot be used: it is a directory and no file. Set COLLOQUY_CONFIG to a file that the user of the service may read.`,
      ]);
    },
  );

  it("that is not JSON is told with line and column, and without its text", async () => {
    await write("colloquy.config.json", '{\n  "providers": { "x": "sk-secret" },\n  "apps": oops\n}\n');
    expect(await problems()).toEqual(["line 3, column 11: Unexpected token 'o'."]);
  });

  it("that throws, has no default export or does not parse is told with its line", async () => {
    await write("package.json", { type: "module" });
    await write("colloquy.config.ts", "const x = 1;\nthrow new Error('no ' + x);");
    expect(await problems()).toEqual(["line 2, column 7: Error: no 1."]);
    await write("a.ts", "export const apps = {};");
    expect((await problems({ COLLOQUY_CONFIG: "a.ts" }))[0]).toContain("no default export");
    await write("b.mjs", "export default () => ({});");
    expect((await problems({ COLLOQUY_CONFIG: "b.mjs" }))[0]).toContain("exports a function");
  });

  it("that is a promise counts as what that comes to", async () => {
    await write("a.mjs", "export default Promise.resolve({ apps: { default: {}, shop: {} } });");
    expect(Object.keys((await loaded({ COLLOQUY_CONFIG: "a.mjs" })).apps)).toEqual(["default", "shop"]);
  });

  it("with getters that throw is told with each place", async () => {
    const getter = 'get tools() { throw new Error("ha"); }';
    await write(
      "a.mjs",
      `export default { apps: { default: { ${getter} }, shop: {} }, get cors() { throw 7; } };`,
    );
    expect(await problems({ COLLOQUY_CONFIG: "a.mjs" })).toEqual([
      "apps.default.tools: cannot be read: Error: ha.",
      "cors: cannot be read: It threw something that is no Error while it was read.",
    ]);
    await write("b.mjs", "export default new Proxy({}, { ownKeys() { throw new TypeError('no'); } });");
    expect(await problems({ COLLOQUY_CONFIG: "b.mjs" })).toEqual([": cannot be read: TypeError: no."]);
  });

  it("with an object of a class where settings stand is told what it is", async () => {
    await write("a.mjs", "export default { apps: new Map(), providers: new (class {})() };");
    expect(await problems({ COLLOQUY_CONFIG: "a.mjs" })).toEqual([
      "apps: must be an object, not an instance of Map.",
      "providers: must be an object, not an instance of a class.",
    ]);
  });

  it("may change a known provider without saying its kind", async () => {
    await write("colloquy.config.json", { providers: { openai: { apiKeyEnv: "MINE", maxRunningTurns: 2 } } });
    const config = await loaded({ MINE: "k", OPENAI_API_KEY: "other" });
    expect(config.providers["openai"]).toEqual({ kind: "openai", maxRunningTurns: 2 });
    expect(config.secrets.provider("openai").apiKey).toBe("k");
    expect(config.apps["default"]!.models[0]).toMatch(/^openai\//);
  });
});

describe("what is wrong", () => {
  it("in environment and file is told all at once, each with its place", async () => {
    await write("colloquy.config.json", {
      apps: {
        default: {
          models: ["demo/assistant", "nobody/model", "no-slash", "demo/assistant", 7],
          utilityModel: "openai/gpt",
          tools: ["calculater"],
          onBusy: "wait",
          instruction: "x",
          expiry: { emptyMs: 1.5 },
        },
      },
      providers: {
        "my.server": { kind: "openai-compatible", api_key_env: "X", apiKeyEnv: "sk-1234" },
        demo: { kind: "openai" },
        unknown: {},
        "a b": { kind: "demo" },
        other: { kind: "ollama", baseURL: "ftp://x" },
      },
      cors: { origins: ["https://app.example.com/", "*", "null"] },
      walletListing: true,
      limits: { maxSteps: 0, turnMs: "10 minutes", maxRuning: 5 },
      colour: "blue",
    });
    const found = await problems({
      PORT: "80a",
      COLLOQUY_LOG_LEVEL: "verbos",
      COLLOQUY_NATS_URL: "nats://x",
    });
    expect(found.toSorted()).toEqual(
      [
        'PORT: must be a number from 0 to 65535 (0 takes a free port), not "80a".',
        'COLLOQUY_LOG_LEVEL: "verbos" is no log level. Known here: trace, debug, info, warn, error, fatal, silent.',
        "COLLOQUY_NATS_URL: is of use only between nodes on one database, and without COLLOQUY_DATABASE_URL there is one node, with its data in SQLite. Set COLLOQUY_DATABASE_URL too, or unset this variable.",
        'apps.default.models[1]: "nobody/model" names the provider "nobody", which is not configured. Known here: openai, anthropic, google, demo, my.server, unknown, a b, other.',
        "apps.default.models[2]: must be a provider's name, a slash and the provider's name of a model, such as demo/assistant.",
        'apps.default.models[3]: "demo/assistant" is in the list already.',
        "apps.default.models[4]: must be text, not a number.",
        'apps.default.utilityModel: "openai/gpt" needs an API key: set OPENAI_API_KEY, or take the model out of the list.',
        'apps.default.tools[0]: must be "current_time", "calculator" or "ask_user", not "calculater".',
        'apps.default.onBusy: must be "enqueue", "reject" or "interrupt", not "wait".',
        'apps.default.instruction: is not a known setting. Did you mean "instructions"?',
        "apps.default.expiry.emptyMs: must be a whole number, not 1.5.",
        'providers["my.server"].api_key_env: is not a known setting. Did you mean "apiKeyEnv"?',
        'providers["my.server"].apiKeyEnv: must be the name of an environment variable, not a key.',
        'providers["a b"]: must be a short name of letters, digits and the characters . - _.',
        "providers.demo: is the name of the built-in demo model. Choose another name.",
        'providers.unknown: needs a "kind": one of demo, openai, anthropic, google, openai-compatible.',
        'providers.other.kind: must be "demo", "openai", "anthropic", "google" or "openai-compatible", not "ollama".',
        "providers.other.baseURL: must be an http or https URL without user name, password and query.",
        "cors.origins[0]: must be an origin as browsers send it: scheme, host and port alone, such as https://app.example.com, or * for any.",
        "cors.origins[2]: must be an origin as browsers send it: scheme, host and port alone, such as https://app.example.com, or * for any.",
        'walletListing: must be "on" or "off", not a boolean.',
        "limits.maxSteps: must be at least 1.",
        "limits.turnMs: must be a number, not text.",
        'limits.maxRuning: is not a known setting. Did you mean "maxRunning"?',
        "colour: is not a known setting. Known here: $schema, apps, providers, chains, cors, walletListing, limits, retention.",
      ].toSorted(),
    );
  });

  it("at the root is told as well", async () => {
    await write("colloquy.config.json", "[]");
    expect(await problems()).toEqual([": must be an object, not a list."]);
    await write("colloquy.config.json", '{"apps":{"default":{"models":[]}}}');
    expect(await problems()).toEqual(["apps.default.models: must have at least 1 entry."]);
  });

  it("may be a number that is far too large or too small: that is one problem", async () => {
    await write("colloquy.config.json", '{"limits":{"actionMs":1e99,"maxSteps":-1e99,"maxQueued":1e999}}');
    expect(await problems()).toEqual([
      "limits.maxSteps: must be at least 1.",
      "limits.maxQueued: must be a number, not Infinity.",
      "limits.actionMs: must be at most 2147483647.",
    ]);
  });

  it("may be a name that stands twice in a JSON file; the rest is told as well", async () => {
    await write(
      "colloquy.config.json",
      '{ "limits": { "maxSteps": 1 },\n  "apps": {\n    "a": {}, "b": { "colour": 1 }, "a": {}\n  },\n "limits": {} }',
    );
    expect(await problems()).toEqual([
      "apps.a: stands in line 3, column 5, and again in line 3, column 36; only the last one would count. Keep one of them.",
      "limits: stands in line 1, column 3, and again in line 5, column 2; only the last one would count. Keep one of them.",
      expect.stringMatching(/^apps\.b\.colour: is not a known setting/),
    ]);
  });

  it("is printed as sentences with file and place", async () => {
    await write("colloquy.config.json", { limits: { maxSteps: 0 } });
    const result = await load({ PORT: "-1" });
    expect(result.ok ? "" : formatProblems(result.problems)).toBe(
      [
        "Colloquy cannot start: the configuration has 2 problems.",
        '  - PORT: must be a number from 0 to 65535 (0 takes a free port), not "-1".',
        "  - colloquy.config.json, limits.maxSteps: must be at least 1.",
      ].join("\n"),
    );
  });

  it("may be a server without an address, or a demo model with one", async () => {
    await write("colloquy.config.json", {
      providers: { a: { kind: "openai-compatible" }, demo: { baseURL: "http://x.test", headers: {} } },
    });
    expect(await problems()).toEqual([
      'providers.a: needs a "baseURL", such as http://127.0.0.1:11434/v1 for Ollama.',
      "providers.demo: is the demo model, which calls nobody. Take out baseURL, headers.",
    ]);
  });

  it("may be a model whose provider has no key", async () => {
    await write("colloquy.config.json", {
      apps: { default: { models: ["google/gemini", "mine/gpt"] } },
      providers: { mine: { kind: "openai", apiKeyEnv: "MINE" } },
    });
    expect(await problems()).toEqual([
      'apps.default.models[0]: "google/gemini" needs an API key: set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY, or take the model out of the list.',
      'apps.default.models[1]: "mine/gpt" needs an API key: set MINE, or take the model out of the list.',
    ]);
  });

  it("may be a model that the demo does not have", async () => {
    await write("colloquy.config.json", { apps: { default: { models: ["demo/other"] } } });
    expect(await problems()).toEqual([
      'apps.default.models[0]: "demo/other" is no model: the only one of the demo is "demo/assistant".',
    ]);
  });

  it("is not a prototype's name", async () => {
    await write("colloquy.config.json", '{"apps":{"default":{"models":["toString/x"]}},"__proto__":{"a":1}}');
    expect((await problems()).map((text) => text.split(":")[0])).toEqual([
      "__proto__",
      "apps.default.models[0]",
    ]);
  });
});

describe("addresses of servers", () => {
  const DATABASE = "postgres://user:hidden@db.test/colloquy";
  const NATS = "nats://node:hidden@one.test:4222, nats://two.test";

  it("are what is set, and printed by nothing", async () => {
    const config = await loaded({ COLLOQUY_DATABASE_URL: DATABASE, COLLOQUY_NATS_URL: NATS });
    expect(config.databaseUrl?.reveal()).toBe(DATABASE);
    expect(config.natsUrl?.reveal()).toBe("nats://node:hidden@one.test:4222,nats://two.test");
    expect(JSON.stringify(config) + inspect(config, { depth: null, showHidden: true })).not.toContain(
      "hidden@",
    );
    expect(await loaded()).toMatchObject({ databaseUrl: null, natsUrl: null });
  });

  it.each([
    "postgresql://db.test/x",
    "postgres:///x?host=/var/run/postgresql",
    "postgres://[::1]:5433/x?sslmode=require",
  ])("may be %s", async (url) => {
    expect((await loaded({ COLLOQUY_DATABASE_URL: url })).databaseUrl?.reveal()).toBe(url);
  });

  it.each([
    "one.test:4222",
    "http://one.test",
    "nats://one.test/x",
    "nats://one.test,tls://two.test",
    "nats://one.test,,",
    "nats://",
  ])("may not be %s for NATS", async (url) => {
    const found = await problems({ COLLOQUY_DATABASE_URL: DATABASE, COLLOQUY_NATS_URL: url });
    expect(found).toEqual([
      expect.stringMatching(/^COLLOQUY_NATS_URL: must be the address of a NATS server/),
    ]);
  });

  it("are not told where they are wrong", async () => {
    const found = await problems({
      COLLOQUY_DATABASE_URL: "user:hidden@db",
      COLLOQUY_NATS_URL: "user:hidden@nats",
    });
    expect(found).toHaveLength(2);
    expect(found.join()).not.toContain("hidden");
  });
});

describe("the admin key", () => {
  it("is taken as it is, and none is none", async () => {
    const key = "a-key_of/16.chars";
    expect((await loaded({ COLLOQUY_ADMIN_KEY: key })).adminKey?.reveal()).toBe(key);
    expect((await loaded({ COLLOQUY_ADMIN_KEY: " " })).adminKey).toBeNull();
    expect(await warnings({ COLLOQUY_ADMIN_KEY: key })).toEqual([]);
    expect(JSON.stringify(await loaded({ COLLOQUY_ADMIN_KEY: key }))).not.toContain(key);
  });

  it.each(["short-of-sixteen".slice(1), "x".repeat(513), "with a space in the middle", "kein-schlüssel-äöü"])(
    "is refused when it could be guessed or no header can carry it: %s",
    async (key) => {
      const [problem, ...more] = await problems({ COLLOQUY_ADMIN_KEY: key });
      expect(problem).toMatch(/COLLOQUY_ADMIN_KEY.* 16 to 512 printable/);
      expect(problem).not.toContain(key);
      expect(more).toEqual([]);
    },
  );
});

describe("warnings", () => {
  it("name the variable that was meant", async () => {
    await write("colloquy.config.json", {
      providers: { a: { kind: "openai-compatible", baseURL: "http://x.test", apiKeyEnv: "COLLOQUY_MY_KEY" } },
    });
    const environment = { COLLOQUY_DATADIR: "x", COLLOQUY_WHATEVER: "x", COLLOQUY_MY_KEY: "x" };
    expect(await warnings(environment)).toEqual([
      "COLLOQUY_DATADIR is set, but nothing reads it. Did you mean COLLOQUY_DATA_DIR?",
      "COLLOQUY_WHATEVER is set, but nothing reads it.",
    ]);
  });

  it("say when a key that the file asks for is not there", async () => {
    await write("colloquy.config.json", {
      providers: { a: { kind: "openai-compatible", baseURL: "http://x.test", apiKeyEnv: "MY_KEY" } },
    });
    expect(await warnings()).toEqual([
      "colloquy.config.json, providers.a.apiKeyEnv: MY_KEY is not set; requests go without a key.",
    ]);
  });

  it("say that threads can be listed from other machines, unless that is closed", async () => {
    expect((await warnings({ HOST: "0.0.0.0" }))[0]).toContain("walletListing");
    await write("colloquy.config.json", { walletListing: "off" });
    expect(await warnings({ HOST: "0.0.0.0" })).toEqual([]);
  });
});

describe("secrets", () => {
  it("are in no print of the configuration", async () => {
    await write("colloquy.config.json", {
      apps: { default: { models: ["a/b"] } },
      providers: {
        a: {
          kind: "openai-compatible",
          baseURL: "http://x.test",
          apiKeyEnv: "A_KEY",
          headers: { Authorization: "Bearer sk-header" },
        },
      },
    });
    const masterKey = "sk-master-".repeat(5).slice(0, 43);
    const config = await loaded({
      A_KEY: "sk-a",
      OPENAI_API_KEY: "sk-openai",
      COLLOQUY_SECRET_KEY: masterKey,
    });
    const prints = [
      inspect(config, { depth: null, showHidden: true }),
      inspect(config.secrets, { depth: null, showHidden: true, customInspect: false }),
      JSON.stringify(config),
      JSON.stringify({ ...config.secrets }),
    ];
    for (const print of prints) expect(print).not.toContain("sk-");
    expect(JSON.parse(JSON.stringify(config))).toMatchObject({
      secrets: ["providers.openai.apiKey", "providers.a.apiKey", "providers.a.headers.Authorization"],
    });
    expect(config.secrets.provider("a").headers).toEqual({ Authorization: "Bearer sk-header" });
    expect(config.secretKey?.reveal()).toBe(masterKey);
    expect(config.secrets.provider("nobody")).toEqual({ apiKey: null, headers: {} });
  });
});

it("the built-in tools that a file may name are those that there are", () => {
  const clock = { now: () => 0 } as Clock;
  expect(Object.keys(builtInTools(clock)).toSorted()).toEqual([...BUILT_IN_TOOLS].toSorted());
});

describe("the address of a known provider", () => {
  const keys = { OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b", GEMINI_API_KEY: "c" };
  const addresses = async (environment: Environment) => {
    const { providers } = await loaded({ ...keys, ...environment });
    return ["openai", "anthropic", "google"].map((name) => providers[name]?.baseURL ?? null);
  };

  it("is the provider's own, or the one that its usual variable names, with the version that its own tools add", async () => {
    expect(await addresses({})).toEqual([null, null, null]);
    const named = (host: string, version: string): Environment => ({
      OPENAI_BASE_URL: `${host}/v1${version && "/"}`,
      ANTHROPIC_BASE_URL: `${host}${version && "/v1"}`,
      GOOGLE_GEMINI_BASE_URL: ` ${host}/${version && "v1beta"} `,
    });
    const expected = ["http://gateway.test/v1", "http://gateway.test/v1", "http://gateway.test/v1beta"];
    expect(await addresses(named("http://gateway.test", ""))).toEqual(expected);
    expect(await addresses(named("http://gateway.test", "with"))).toEqual(expected);
  });

  it("is the file's, where the file has one, whatever the variable says", async () => {
    await write("colloquy.config.json", { providers: { openai: { baseURL: "http://mine.test/v1" } } });
    expect(await addresses({ OPENAI_BASE_URL: "not even an address" })).toEqual([
      "http://mine.test/v1",
      null,
      null,
    ]);
  });

  it("goes with the usual key: another key does not go there", async () => {
    await write("colloquy.config.json", {
      providers: { openai: { apiKeyEnv: "MY_KEY" }, team: { kind: "openai" } },
    });
    const { providers } = await loaded({
      ...keys,
      MY_KEY: "mine",
      OPENAI_BASE_URL: "http://gateway.test/v1",
    });
    expect(providers["openai"]).toEqual({ kind: "openai" });
    expect(providers["team"]).toEqual({ kind: "openai", baseURL: "http://gateway.test/v1" });
  });

  it("must be an address, if the provider is used", async () => {
    const wrong = { ANTHROPIC_BASE_URL: "gateway.test", OPENAI_BASE_URL: "http://user:password@x.test/v1" };
    const rule = "must be an http or https URL without user name, password and query.";
    expect(await problems({ ...keys, ...wrong })).toEqual([
      `OPENAI_BASE_URL: ${rule}`,
      `ANTHROPIC_BASE_URL: ${rule}`,
    ]);
    expect(await problems(wrong)).toEqual([]);
  });
});

it("refuses a COLLOQUY_SECRET_KEY that is no key, and does not repeat it", async () => {
  const found = await problems({ COLLOQUY_SECRET_KEY: `${"0f1e".repeat(16)},hunter22` });
  expect(found).toEqual([expect.stringMatching(/^COLLOQUY_SECRET_KEY: must .* openssl rand -base64 32$/)]);
  expect(found.join()).not.toContain("hunter22");
});
