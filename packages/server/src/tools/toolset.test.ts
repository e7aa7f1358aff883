import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { Hidden } from "../core/hidden.ts";
import type { SecretVault } from "../core/ports/driven/secret-store.ts";
import type { Tool, ToolEffect, Toolset, TurnTools } from "../core/ports/driven/tool.ts";
import { AppTools } from "./toolset.ts";
import { fixedTools } from "./testing/fixed-tools.ts";
import { recordingLogger } from "./testing/recording-logger.ts";
import { toolTurn } from "./testing/tool-turn.ts";
import {
  createStandIn,
  fixedSource,
  type SourcePlan,
  type SourceTool,
  type ToolSource,
} from "./tool-source.ts";

function named(
  name: string,
  inputSchema: Tool["inputSchema"] = { type: "object" },
  effect: ToolEffect = "read",
): Tool {
  return { name, description: "", inputSchema, effect, execute: async () => name };
}

const { signal } = new AbortController();
const clock = new ManualClock();
const options = { callId: "call-1", timeoutMs: 1_000, signal, clock };

function toolsOf(toolset: Toolset, app = "default", clientId: string | null = null): Promise<TurnTools> {
  return toolset.open(toolTurn(app, { clientId }), signal);
}

describe("the tools of an App", () => {
  it("are those of its sources in order, in the same list for each turn", async () => {
    const toolset = fixedTools({ default: [named("b"), named("a")], defi: [named("swap")] });
    const names = async (app: string) => (await toolsOf(toolset, app)).definitions.map(({ name }) => name);
    expect(await names("default")).toEqual(["b", "a"]);
    expect(await names("defi")).toEqual(["swap"]);
    for (const app of ["unknown", "constructor", "__proto__"]) expect(await names(app)).toEqual([]);
    const { definitions } = await toolsOf(toolset, "default");
    expect((await toolsOf(toolset, "default", "somebody")).definitions).toBe(definitions);
  });

  it("can be called only by turns of the App", async () => {
    const toolset = fixedTools({ default: [named("a")], defi: [named("swap")], empty: [] });
    expect(await (await toolsOf(toolset, "defi")).call("swap", {}, options)).toEqual({
      output: "swap",
      isError: false,
    });
    expect(await (await toolsOf(toolset, "default")).call("swap", {}, options)).toEqual({
      output: "There is no tool with this name. The tools are a.",
      isError: true,
    });
    for (const [app, name] of [
      ["empty", "a"],
      ["unknown", "a"],
      ["constructor", "toString"],
    ] as const) {
      expect(await (await toolsOf(toolset, app)).call(name, {}, options)).toEqual({
        output: "There is no tool with this name. There are no tools.",
        isError: true,
      });
    }
  });

  it.each([
    ["whose name is empty", [named("")], "1 to 64"],
    ["whose name has a space", [named("a b")], "1 to 64"],
    ["whose name is too long", [named("a".repeat(65))], "1 to 64"],
    ["whose name is taken", [named("first"), named("first")], "taken"],
    [
      "whose schema cannot be checked",
      [named("a", { $ref: "https://example.com/schema" })],
      "input schema of the tool a",
    ],
  ])("exclude a tool %s, and log the reason", async (_case, tools, reason) => {
    const logger = recordingLogger();
    const toolset = fixedTools({ default: [named("first"), ...tools] }, { logger });
    expect((await toolsOf(toolset)).definitions.map(({ name }) => name)).toEqual(["first"]);
    await toolsOf(toolset);
    const warned = logger.lines.filter(({ message }) => message === "a tool is omitted");
    expect(new Set(warned.map(({ fields }) => JSON.stringify(fields)))).toHaveLength(1);
    expect(JSON.stringify(warned)).toContain(reason);
  });

  it("have the configured effect, or else their own", async () => {
    const effects = { swap: "idempotent", constructor: "read" } as const;
    const tools = [
      named("swap", { type: "object" }, "unsafe"),
      named("toString", { type: "object" }, "unsafe"),
    ];
    const { definitions } = await toolsOf(fixedTools({ default: tools }, { effects }));
    expect(definitions.map(({ effect }) => effect)).toEqual(["idempotent", "unsafe"]);
  });

  describe("tools named in the configuration but missing on their server", () => {
    const server = { document: "a.json", baseURL: null, operations: null, headers: new Hidden({}) };
    const openapi = { shop: server, down: server };
    const approvals = { shop_pay: "always", shop_pya: "always", down_pay: "always" } as const;
    const effects = { shop_pay: "read", shop_constructor: "read" } as const;
    const tools = { ...settings.tools, openapi, approvals, effects };
    const away = { prefix: "shop_", reason: "It is away.", look: () => Promise.resolve() };

    /** Returns the warnings of each turn. Each turn finds the next of these lists. */
    async function warnedOf(...lists: (readonly SourceTool[])[]): Promise<string[][]> {
      const logger = recordingLogger();
      let list: readonly SourceTool[] = [];
      const plan = (): SourcePlan[] => [
        { key: null, create: () => ({ ...quietSource, list: () => Promise.resolve(list) }) },
      ];
      const toolset = new AppTools({ default: { ...settings, tools } }, { clock, logger, vault: null, plan });
      const warned: string[][] = [];
      for (list of lists) {
        const before = logger.lines.length;
        await toolsOf(toolset);
        const lines = logger.lines.slice(before).filter(({ level }) => level === "warn");
        const places = lines.map(({ fields }) => fields as Readonly<Record<"section" | "tool", string>>);
        warned.push(places.map(({ section, tool }) => `${section} ${tool}`));
      }
      return warned;
    }

    it("cause one warning", async () => {
      const both = ["effects shop_constructor", "approvals shop_pya"];
      expect(await warnedOf([named("shop_pay")], [named("shop_pay"), named("shop_list")])).toEqual([
        both,
        [],
      ]);
    });

    it("cause no warning while the server is down, and one when it is available again", async () => {
      const pay = [named("shop_pay")];
      expect(await warnedOf([createStandIn(away)], pay)).toEqual([
        [],
        ["effects shop_constructor", "approvals shop_pya"],
      ]);
    });

    it("cause a new warning when they disappear again", async () => {
      const list = [named("shop_pay"), named("shop_constructor")];
      const all = [...list, named("shop_pya")];
      expect(await warnedOf(list, all, [createStandIn(away)], [...list])).toEqual([
        ["approvals shop_pya"],
        [],
        [],
        ["approvals shop_pya"],
      ]);
    });
  });

  it("come from several sources: for equal names the first source wins, and a failing source is skipped", async () => {
    const logger = recordingLogger();
    const mine = { ...named("a"), execute: async () => "mine" };
    const broken: SourcePlan = {
      key: null,
      create: () => ({ ...quietSource, list: () => Promise.reject(new Error("down")) }),
    };
    const plan = () => [fixedSource("own", [mine]), broken, fixedSource("others", [named("a"), named("b")])];
    const toolset = new AppTools({ default: settings }, { clock, logger, vault: null, plan });
    const tools = await toolsOf(toolset);
    expect(tools.definitions.map(({ name }) => name)).toEqual(["a", "b"]);
    expect((await tools.call("a", {}, options)).output).toBe("mine");
    expect(logger.lines).toContainEqual(
      expect.objectContaining({ message: "skipped a tool source in a turn" }),
    );
  });
});

const quietSource: ToolSource = {
  label: "quiet",
  list: () => Promise.resolve([]),
  retire: () => undefined,
  close: () => Promise.resolve(),
};
const settings = {
  tools: { builtIn: [], own: {}, mcp: {}, openapi: {}, wallet: null, effects: {}, approvals: {} },
  secrets: [],
};

describe("a reload", () => {
  function watchedPlan(keys: () => readonly string[], told: string[]) {
    return (): SourcePlan[] =>
      keys().map((key) => ({
        key,
        create: () => {
          // The tool captures `source`, like the tools of a source with connections, and so keeps it in
          // memory.
          const source: ToolSource = {
            ...quietSource,
            list: () => Promise.resolve([{ ...named(key), execute: async () => source && key }]),
            retire: () => void told.push(`retired ${key}`),
            close: async () => void told.push(`closed ${key}`),
          };
          return source;
        },
      }));
  }

  it("keeps unchanged sources, and lets running turns keep their tools", async () => {
    const told: string[] = [];
    let keys = ["kept", "old"];
    const plan = watchedPlan(() => keys, told);
    const toolset = new AppTools(
      { default: settings },
      { clock, logger: recordingLogger(), vault: null, plan },
    );
    const before = await toolsOf(toolset);
    keys = ["kept", "new"];
    toolset.replace({ default: settings });
    expect(told).toEqual(["retired old"]);
    expect((await toolsOf(toolset)).definitions.map(({ name }) => name)).toEqual(["kept", "new"]);
    expect(await before.call("old", {}, options)).toEqual({ output: "old", isError: false });
    await toolset.close();
    expect(await before.call("old", {}, options)).toEqual({ output: "old", isError: false });
    expect(told.toSorted()).toEqual(["closed kept", "closed new", "closed old", "retired old"]);
    expect((await toolsOf(toolset)).definitions).toEqual([]);
  });

  it("removes the tools of a removed App", async () => {
    const told: string[] = [];
    const plan = watchedPlan(() => ["a"], told);
    const toolset = new AppTools({ defi: settings }, { clock, logger: recordingLogger(), vault: null, plan });
    toolset.replace({ default: settings });
    expect(told).toEqual(["retired a"]);
    expect((await toolsOf(toolset, "defi")).definitions).toEqual([]);
  });
});

describe("the secrets of a turn", () => {
  const telling: Tool = { ...named("tell"), execute: async (_input, { secret }) => secret("KEY").length };
  const vault = (open: SecretVault["open"]): SecretVault => ({
    isOpen: true,
    names: () => Promise.resolve([]),
    set: () => Promise.resolve(),
    remove: () => Promise.resolve(0),
    open,
  });

  it("are those of its App and client, and are read only if the App declares secrets", async () => {
    const asked: string[] = [];
    const opening = vault(async (app, client) => {
      asked.push(`${app} ${client}`);
      return new Map([["KEY", client]]);
    });
    const toolset = fixedTools({ defi: [telling] }, { vault: opening, secrets: ["KEY"] });
    expect(await (await toolsOf(toolset, "defi", "ada")).call("tell", {}, options)).toEqual({
      output: 3,
      isError: false,
    });
    expect(asked).toEqual(["defi ada"]);
    const nobody = await (await toolsOf(toolset, "defi", null)).call("tell", {}, options);
    expect(nobody).toMatchObject({ isError: true, missingSecret: "KEY" });
    const without = fixedTools({ defi: [telling] }, { vault: opening });
    const undeclared = await (await toolsOf(without, "defi", "ada")).call("tell", {}, options);
    expect(undeclared.output).toBe('The App declares no secret "KEY".');
    expect(asked).toEqual(["defi ada"]);
  });

  it("fail only the calls that need them when they cannot be read", async () => {
    const failing = vault(() => Promise.reject(new Error("disk full")));
    const toolset = fixedTools({ defi: [telling, named("a")] }, { vault: failing, secrets: ["KEY"] });
    const tools = await toolsOf(toolset, "defi", "ada");
    expect(await tools.call("tell", {}, options)).toMatchObject({
      output: "Secrets cannot be read at the moment. Try again later.",
      isError: true,
    });
    expect((await tools.call("a", {}, options)).isError).toBe(false);
  });
});
