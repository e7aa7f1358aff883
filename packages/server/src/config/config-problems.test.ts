// The wording of problems and warnings about environment and file.

import { describe, expect, it } from "vitest";
import { formatProblems } from "@colloquy/engine/internal/config/problem";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { write, load, problems, warnings } = useConfigDirectory();

describe("problems", () => {
  it("reports all problems of environment and file at once, each with its location", async () => {
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
      siwe: { domains: ["https://app.example.com", "app.example.com:3000"] },
      walletListing: true,
      limits: { maxSteps: 0, turnMs: "10 minutes", maxRuning: 5 },
      colour: "blue",
      branding: { name: "Harbour" },
      backend: { url: "postgres://db/colloquy" },
      protocols: { lines: {}, "ai-sdk": {} },
    });
    const found = await problems({
      PORT: "80a",
      COLLOQUY_LOG_LEVEL: "verbos",
      COLLOQUY_NATS_URL: "nats://x",
    });
    expect(found.toSorted()).toEqual(
      [
        'PORT: must be a number from 0 to 65535 (0 takes a free port), not "80a".',
        'COLLOQUY_LOG_LEVEL: "verbos" is not a log level. Known here: trace, debug, info, warn, error, fatal, silent.',
        "COLLOQUY_NATS_URL: connects nodes that share a database, but without COLLOQUY_DATABASE_URL there is only one node, on SQLite. Set COLLOQUY_DATABASE_URL too, or unset this variable.",
        'apps.default.models[1]: "nobody/model" names the provider "nobody", which is not configured. Known here: openai, anthropic, google, demo, my.server, unknown, a b, other.',
        "apps.default.models[2]: must be a provider's name, a slash and the provider's name of a model, such as demo/assistant.",
        'apps.default.models[3]: "demo/assistant" is in the list already.',
        "apps.default.models[4]: must be text, not a number.",
        'apps.default.utilityModel: "openai/gpt" needs an API key: set OPENAI_API_KEY, or remove the model from the list.',
        'apps.default.tools[0]: must be "current_time", "calculator" or "ask_user", not "calculater".',
        'apps.default.onBusy: must be "enqueue", "reject", "interrupt" or "steer", not "wait".',
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
        "siwe.domains[0]: must be the host of a page, with a port only if its URL has one, such as app.example.com.",
        'walletListing: must be "on" or "off", not a boolean.',
        "limits.maxSteps: must be at least 1.",
        "limits.turnMs: must be a number, not text.",
        'limits.maxRuning: is not a known setting. Did you mean "maxRunning"?',
        'branding: is a setting of an App. Write it as "apps.default.branding", or in another App.',
        'backend.kind: must be "sqlite" or "postgresql", not absent.',
        'protocols.lines: is not a protocol with settings. Known here: openai, ag-ui, aomi, mcp-server. A protocol of a package must be listed in "plugins".',
        'protocols.ai-sdk: is not a protocol with settings. Known here: openai, ag-ui, aomi, mcp-server. A protocol of a package must be listed in "plugins".',
        "colour: is not a known setting. Known here: $schema, plugins, apps, providers, chains, backend, transport, files, operators, protocols, siwe, cors, walletListing, limits, rateLimits, retention.",
      ].toSorted(),
    );
  });

  it("reports a wrong type at the root", async () => {
    await write("colloquy.config.json", "[]");
    expect(await problems()).toEqual([": must be an object, not a list."]);
    await write("colloquy.config.json", '{"apps":{"default":{"models":[]}}}');
    expect(await problems()).toEqual(["apps.default.models: must have at least 1 entry."]);
  });

  it("reports a number far out of range as one problem", async () => {
    await write("colloquy.config.json", '{"limits":{"actionMs":1e99,"maxSteps":-1e99,"maxQueued":1e999}}');
    expect(await problems()).toEqual([
      "limits.maxSteps: must be at least 1.",
      "limits.maxQueued: must be a number, not Infinity.",
      "limits.actionMs: must be at most 2147483647.",
    ]);
  });

  it("reports duplicate names in a JSON file together with other problems", async () => {
    await write(
      "colloquy.config.json",
      '{ "limits": { "maxSteps": 1 },\n  "apps": {\n    "a": {}, "b": { "colour": 1 }, "a": {}\n  },\n "limits": {} }',
    );
    expect(await problems()).toEqual([
      "apps.a: is defined in line 3, column 5, and again in line 3, column 36; only the last one would count. Keep one of them.",
      "limits: is defined in line 1, column 3, and again in line 5, column 2; only the last one would count. Keep one of them.",
      expect.stringMatching(/^apps\.b\.colour: is not a known setting/),
    ]);
  });

  it("formats problems as sentences with file and location", async () => {
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

  it("reports a provider without a base URL and a demo provider with one", async () => {
    await write("colloquy.config.json", {
      providers: {
        a: { kind: "openai-compatible" },
        demo: { baseURL: "http://x.test", headers: {} },
        openai: { tools: false, timeoutMs: 5_000, body: {} },
      },
    });
    expect(await problems()).toEqual([
      'providers.a: needs a "baseURL", such as http://127.0.0.1:11434/v1 for Ollama.',
      "providers.demo: is the demo model, which calls no API. Remove baseURL, headers.",
      'providers.openai: is of kind openai. Remove tools, body, which only "openai-compatible" has.',
    ]);
  });

  it("reports a model whose provider has no key", async () => {
    await write("colloquy.config.json", {
      apps: { default: { models: ["google/gemini", "mine/gpt"] } },
      providers: { mine: { kind: "openai", apiKeyEnv: "MINE" } },
    });
    expect(await problems()).toEqual([
      'apps.default.models[0]: "google/gemini" needs an API key: set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY, or remove the model from the list.',
      'apps.default.models[1]: "mine/gpt" needs an API key: set MINE, or remove the model from the list.',
    ]);
  });

  it("reports an unknown demo model", async () => {
    await write("colloquy.config.json", { apps: { default: { models: ["demo/other"] } } });
    expect(await problems()).toEqual([
      'apps.default.models[0]: "demo/other" is not a model: the only demo model is "demo/assistant".',
    ]);
  });

  it("treats names of Object.prototype as unknown", async () => {
    await write("colloquy.config.json", '{"apps":{"default":{"models":["toString/x"]}},"__proto__":{"a":1}}');
    expect((await problems()).map((text) => text.split(":")[0])).toEqual([
      "__proto__",
      "apps.default.models[0]",
    ]);
  });
});

describe("warnings", () => {
  it("suggests the closest known variable", async () => {
    await write("colloquy.config.json", {
      providers: { a: { kind: "openai-compatible", baseURL: "http://x.test", apiKeyEnv: "COLLOQUY_MY_KEY" } },
    });
    const environment = { COLLOQUY_DATADIR: "x", COLLOQUY_WHATEVER: "x", COLLOQUY_MY_KEY: "x" };
    expect(await warnings(environment)).toEqual([
      "COLLOQUY_DATADIR is set, but nothing reads it. Did you mean COLLOQUY_DATA_DIR?",
      "COLLOQUY_WHATEVER is set, but nothing reads it.",
    ]);
  });

  it("warns if the variable of an apiKeyEnv is not set", async () => {
    await write("colloquy.config.json", {
      providers: { a: { kind: "openai-compatible", baseURL: "http://x.test", apiKeyEnv: "MY_KEY" } },
    });
    expect(await warnings()).toEqual([
      "colloquy.config.json, providers.a.apiKeyEnv: MY_KEY is not set; requests are sent without a key.",
    ]);
  });

  it("names the Apps where wallets are claimed, and is silent where all are proved", async () => {
    const open = { HOST: "0.0.0.0", COLLOQUY_ALLOWED_HOSTS: "chat.test" };
    const proved = { wallets: "proved" };
    await write("colloquy.config.json", { apps: { default: proved, shop: {}, club: proved } });
    expect(await warnings(open)).toEqual([expect.stringContaining("in these Apps: shop. ")]);
    await write("colloquy.config.json", { apps: { default: proved, club: proved } });
    expect(await warnings(open)).toEqual([]);
  });

  it("warns that other machines can list threads, unless walletListing is off", async () => {
    const open = { HOST: "0.0.0.0", COLLOQUY_ALLOWED_HOSTS: "chat.test" };
    expect((await warnings(open))[0]).toContain("walletListing");
    await write("colloquy.config.json", { walletListing: "off" });
    expect(await warnings(open)).toEqual([]);
  });
});
