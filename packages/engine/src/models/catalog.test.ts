import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { z } from "zod";
import { Hidden } from "../core/hidden.ts";
import { defineModelProvider } from "../core/plugins/model-provider.ts";
import { createModelCatalog, type ModelCatalogOptions } from "./catalog.ts";

const providers: ModelCatalogOptions["providers"] = {
  demo: { kind: "demo" },
  openai: { kind: "openai", apiKey: "key" },
  gateway: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" },
};

function createCatalog(options: Partial<ModelCatalogOptions> = {}) {
  return createModelCatalog({ providers, clock: new ManualClock(), extraModels: {}, ...options });
}

function named(modelId: string): LanguageModelV4 {
  return new MockLanguageModelV4({ modelId });
}

describe("ModelCatalog", () => {
  it("splits a rig at its first slash", async () => {
    const asked: string[] = [];
    const catalog = createCatalog({
      open: async (name) => {
        asked.push(name);
        return (modelId) => named(modelId);
      },
    });
    expect((await catalog.resolve("gateway/meta/llama")).modelId).toBe("meta/llama");
    expect(asked).toEqual(["gateway"]);
  });

  it("creates a plugin's provider once, and again after a failure, and hides its settings in errors", async () => {
    let attempts = 0;
    const plugin = defineModelProvider({
      name: "acme",
      version: "1.0.0",
      settings: z.object({ token: z.string() }),
      contextWindow: (id) => (id === "large" ? 16_000 : undefined),
      create({ token }, { name }) {
        attempts += 1;
        if (attempts === 1) throw new Error(`Cannot use ${token}`);
        return { model: (id) => named(`${name}-${id}`) };
      },
    });
    const settings = new Hidden({ token: "t-12345678" });
    const mine = {
      kind: "plugin",
      plugin: { plugin, settings, secrets: new Hidden(["t-12345678"]) },
    } as const;
    const catalog = createCatalog({ providers: { mine, small: { ...mine, contextWindow: 9_000 } } });
    const error = await catalog.resolve("mine/large").catch((reason: unknown) => reason);
    expect(JSON.stringify(catalog.failureFacts(error))).not.toContain("t-12345678");
    expect((await catalog.resolve("mine/large")).modelId).toBe("mine-large");
    await catalog.resolve("mine/other");
    expect(attempts).toBe(2);
    const rigs = ["mine/large", "mine/other", "small/large"];
    expect(rigs.map((rig) => catalog.contextWindow(rig))).toEqual([16_000, 8_192, 9_000]);
  });

  it("resolves the demo model", async () => {
    const catalog = createCatalog();
    expect(await catalog.resolve("demo/assistant")).toMatchObject({ provider: "demo", modelId: "assistant" });
    expect(await catalog.resolve("demo/assistant")).toBe(await catalog.resolve("demo/assistant"));
  });

  it.each(["demo/other", "nobody/model", "openai", "openai/", "", "constructor/x", "__proto__/x"])(
    "rejects %s as a model that does not exist",
    async (rig) => {
      const catalog = createCatalog();
      const error: unknown = await catalog.resolve(rig).catch((reason: unknown) => reason);
      expect(catalog.describeFailure(error)).toMatchObject({ code: "model_not_found", retryable: false });
    },
  );

  it("prefers extra models to configured ones", async () => {
    const extra = named("extra");
    const catalog = createCatalog({ extraModels: { "demo/assistant": extra, "bench/instant": extra } });
    expect(await catalog.resolve("demo/assistant")).toBe(extra);
    expect(await catalog.resolve("bench/instant")).toBe(extra);
    expect(catalog.contextWindow("bench/instant")).toBe(32_768);
    expect(catalog.contextWindow("demo/assistant")).toBe(32_768);
  });

  it("returns the context window of a model", () => {
    const catalog = createCatalog();
    expect(catalog.contextWindow("demo/assistant")).toBe(1_000_000);
    expect(catalog.contextWindow("openai/gpt-4o")).toBe(128_000);
    expect(catalog.contextWindow("gateway/meta/llama")).toBe(8_192);
    expect(catalog.contextWindow("nobody/model")).toBe(32_768);
  });

  it("prefers a configured context window", () => {
    const catalog = createModelCatalog({
      clock: new ManualClock(),
      extraModels: {},
      providers: { local: { kind: "openai-compatible", baseURL: "http://x.test", contextWindow: 65_536 } },
    });
    expect(catalog.contextWindow("local/llama3.2")).toBe(65_536);
    expect(catalog.contextWindow("local/gpt-4o")).toBe(65_536);
  });

  it("opens a provider once for concurrent callers", async () => {
    const gate = Promise.withResolvers<void>();
    let opened = 0;
    const catalog = createCatalog({
      open: async () => {
        opened += 1;
        await gate.promise;
        return named;
      },
    });
    const models = Promise.all([
      catalog.resolve("openai/a"),
      catalog.resolve("openai/b"),
      catalog.resolve("openai/a"),
    ]);
    gate.resolve();
    expect((await models).map(({ modelId }) => modelId)).toEqual(["a", "b", "a"]);
    await catalog.resolve("openai/c");
    expect(opened).toBe(1);
  });

  it("retries after a package failed to load", async () => {
    let opened = 0;
    const catalog = createCatalog({
      open: async () => {
        opened += 1;
        if (opened === 1) throw new Error("Cannot find package");
        return named;
      },
    });
    const both = await Promise.allSettled([catalog.resolve("openai/a"), catalog.resolve("openai/b")]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect((await catalog.resolve("openai/a")).modelId).toBe("a");
    expect(opened).toBe(2);
  });

  it("sets up each kind of provider without a key and without a call", async () => {
    const catalog = createCatalog({
      providers: {
        openai: { kind: "openai" },
        anthropic: { kind: "anthropic" },
        google: { kind: "google" },
        local: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" },
        broken: { kind: "openai-compatible" },
      },
    });
    const names = ["openai.responses", "anthropic.messages", "google.generative-ai", "local.chat"];
    const models = await Promise.all(["openai/a", "anthropic/b", "google/c", "local/d"].map(catalog.resolve));
    expect(models.map(({ provider }) => provider)).toEqual(names);
    await expect(catalog.resolve("broken/e")).rejects.toThrow("needs a baseURL");
  });
});

/** Returns the packages that a process has imported after running a script that creates the catalog. */
async function packagesAfter(script: string): Promise<readonly string[]> {
  const code = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({
      load(url, context, nextLoad) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
        if (name !== undefined) loaded.add(name);
        return nextLoad(url, context);
      },
    });
    const { createModelCatalog } = await import(${JSON.stringify(import.meta.resolve("./catalog.ts"))});
    const catalog = createModelCatalog({
      providers: { demo: { kind: "demo" }, openai: { kind: "openai", apiKey: "key" } },
      clock: { now: Date.now },
      extraModels: {},
    });
    ${script}
    console.log(JSON.stringify([...loaded]));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code]);
  return JSON.parse(stdout) as string[];
}

describe("process with a catalog", () => {
  const heavy = /^(?:ai|@ai-sdk\/(?!provider$).*|zod)$/;

  it("imports neither a provider's package nor the SDK before a model is resolved", async () => {
    const packages = await packagesAfter(
      'await catalog.resolve("demo/assistant"); catalog.contextWindow("openai/gpt-5");',
    );
    expect(packages).toContain("@ai-sdk/provider");
    expect(packages.filter((name) => heavy.test(name))).toEqual([]);
  });

  it("imports only the package of the requested provider", async () => {
    const packages = await packagesAfter('await catalog.resolve("openai/gpt-5");');
    expect(packages).toContain("@ai-sdk/openai");
    expect(packages.filter((name) => /@ai-sdk\/(?:anthropic|google|openai-compatible)/.test(name))).toEqual(
      [],
    );
  });
});
