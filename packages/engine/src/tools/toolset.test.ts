import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { SecretVault } from "../core/ports/driven/secret-store.ts";
import type { Tool, ToolEffect, Toolset, TurnTools } from "../core/ports/driven/tool.ts";
import { namedSources, sourceSettings } from "./testing/source-settings.ts";
import { AppTools } from "./toolset.ts";
import { fixedTools } from "./testing/fixed-tools.ts";
import { recordingLogger } from "./testing/recording-logger.ts";
import { toolTurn } from "./testing/tool-turn.ts";
import { createStandIn, fixedSource, type SourceTool, type ToolSource } from "./tool-source.ts";

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

  describe("tools named in the configuration that their source does not list", () => {
    const sources = ["shop", "down"].map((name) => sourceSettings(namedSources, name, {}));
    const approvals = { shop_pay: "always", shop_pya: "always", down_pay: "always" } as const;
    const effects = { shop_pay: "read", shop_constructor: "read" } as const;
    const tools = { ...settings.tools, sources, approvals, effects };
    const LEVELS = { effects: "warn", approvals: "error" };
    const away = { prefix: "shop_", reason: "It is away.", look: () => Promise.resolve() };

    /** Returns the warnings of each turn. Each turn finds the next of these lists. */
    async function warnedOf(...lists: (readonly SourceTool[])[]): Promise<string[][]> {
      const logger = recordingLogger();
      let list: readonly SourceTool[] = [];
      const plan = () => [{ ...quietSource, list: () => Promise.resolve(list) }];
      const toolset = new AppTools({ default: { ...settings, tools } }, { clock, logger, vault: null, plan });
      const warned: string[][] = [];
      for (list of lists) {
        const before = logger.lines.length;
        await toolsOf(toolset);
        const lines = logger.lines
          .slice(before)
          .filter(({ message }) => message.includes("a tool that its source does not list"));
        expect(
          lines.every(
            ({ level, fields }) => "section" in fields && level === LEVELS[fields.section as "effects"],
          ),
        ).toBe(true);
        const places = lines.map(({ fields }) => fields as Readonly<Record<"section" | "tool", string>>);
        warned.push(places.map(({ section, tool }) => `${section} ${tool}`));
      }
      return warned;
    }

    it("make the other tools of the source ask, unless they have a rule of their own", async () => {
      const plan = () => [
        fixedSource("own", [named("shop_own")]),
        fixedSource(
          "shop",
          ["shop_pay", "shop_view", "shop_list"].map((name) => ({ ...named(name), isRemote: true })),
        ),
      ];
      const kinds = async (rules: Readonly<Record<string, "always" | "never">>) => {
        const of = { ...settings, tools: { ...tools, effects: {}, approvals: rules } };
        const parts = { clock, logger: recordingLogger(), vault: null, plan };
        const turn = await toolsOf(new AppTools({ default: of }, parts));
        const names = turn.definitions.map(({ name }) => name);
        return await Promise.all(names.map(async (name) => (await turn.decide(name, {})).kind));
      };
      expect(await kinds({ shop_pya: "always", shop_list: "never" })).toEqual([
        "allow",
        "ask",
        "ask",
        "allow",
      ]);
      expect(await kinds({ shop_pya: "never" })).toEqual(["allow", "allow", "allow", "allow"]);
      expect(await kinds({ down_pay: "always" })).toEqual(["allow", "allow", "allow", "allow"]);
    });

    it("are logged once", async () => {
      const both = ["effects shop_constructor", "approvals shop_pya"];
      expect(await warnedOf([named("shop_pay")], [named("shop_pay"), named("shop_list")])).toEqual([
        both,
        [],
      ]);
    });

    it("are not logged while the source is down, and once when it is available again", async () => {
      const pay = [named("shop_pay")];
      expect(await warnedOf([createStandIn(away)], pay)).toEqual([
        [],
        ["effects shop_constructor", "approvals shop_pya"],
      ]);
    });

    it("are logged again when they disappear again", async () => {
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
    const broken: ToolSource = { ...quietSource, list: () => Promise.reject(new Error("down")) };
    const plan = () => [fixedSource("own", [mine]), broken, fixedSource("others", [named("a"), named("b")])];
    const toolset = new AppTools({ default: settings }, { clock, logger, vault: null, plan });
    const tools = await toolsOf(toolset);
    expect(tools.definitions.map(({ name }) => name)).toEqual(["a", "b"]);
    expect((await tools.call("a", {}, options)).output).toBe("mine");
    expect(logger.lines).toContainEqual(
      expect.objectContaining({ message: "a tool source fails: its tools are unavailable" }),
    );
  });

  it("keep a server's tool whose name is taken, with a suffix, under the rules of its own name", async () => {
    const remote = (name: string): SourceTool => ({ ...named(name), isRemote: true });
    const plan = () => [fixedSource("own", [named("mail_send")]), fixedSource("mail", [remote("mail_send")])];
    const rules = { ...settings.tools, approvals: { mail_send: "always" as const } };
    const apps = { default: { ...settings, tools: rules } };
    const toolset = new AppTools(apps, { clock, logger: recordingLogger(), vault: null, plan });
    const tools = await toolsOf(toolset);
    expect(tools.definitions.map(({ name }) => name)).toEqual(["mail_send", "mail_send_2"]);
    expect((await tools.decide("mail_send_2", {})).kind).toBe("ask");
  });

  it("report which tools of a source a model is not offered, and why", async () => {
    const plan = () => [{ ...quietSource, label: "mail", list: async () => [named("a"), named("b")] }];
    const notOffered = () => [{ models: ["local/small"], names: ["b"], reason: "its provider takes 1 tool" }];
    const logger = recordingLogger();
    const toolset = new AppTools({ default: settings }, { clock, logger, vault: null, plan, notOffered });
    await toolset.refresh("default");
    expect(toolset.sources("default")).toMatchObject([
      { name: "mail", state: "working", problem: "Tools are left out: b (its provider takes 1 tool)" },
    ]);
  });
});

const quietSource: ToolSource = {
  label: "quiet",
  list: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};
const settings = {
  tools: { builtIn: [], own: {}, sources: [], wallet: null, effects: {}, approvals: {} },
  secrets: [],
};

describe("closing", () => {
  it("closes every source, and lets running turns keep their tools", async () => {
    const closed: string[] = [];
    const source = (label: string): ToolSource => ({
      label,
      list: () => Promise.resolve([{ ...named(label), execute: async () => label }]),
      close: async () => void closed.push(label),
    });
    const plan = () => [source("a"), source("b")];
    const toolset = new AppTools(
      { default: settings },
      { clock, logger: recordingLogger(), vault: null, plan },
    );
    const before = await toolsOf(toolset);
    await toolset.close();
    expect(closed).toEqual(["a", "b"]);
    expect(await before.call("a", {}, options)).toEqual({ output: "a", isError: false });
    expect((await toolsOf(toolset)).definitions).toEqual([]);
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
