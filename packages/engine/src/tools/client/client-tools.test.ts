import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { schemaChecks } from "../../../../server/test/schema-checks.ts";
import type { ToolSettings } from "../../core/app-settings.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { TurnOptions } from "../../core/turn-options.ts";
import { LEAKS } from "../testing/leaky-tool.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { toolTurn } from "../testing/tool-turn.ts";
import { fixedSource, type SourceTool } from "../tool-source.ts";
import { AppTools } from "../toolset.ts";
import { clientToolSources } from "./client-tools.ts";

const SECRET = "canary+4f9A/8b7C6d5E";
const LOOK = {
  description: "Looks",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const NOTHING = { builtIn: [], own: {}, sources: [], wallet: null, effects: {}, approvals: {} };

/** Returns the tools of an App with a tool of the server, `fixed`, and these settings. */
function appTools(settings: Pick<ToolSettings, "client" | "allowsClientTools">): AppTools {
  const vault = {
    isOpen: true,
    names: () => Promise.resolve([]),
    set: () => Promise.resolve(),
    remove: () => Promise.resolve(0),
    open: () => Promise.resolve(new Map([["KEY", SECRET]])),
  };
  const fixed: SourceTool = {
    name: "fixed",
    description: "Of the server",
    inputSchema: { type: "object" },
    effect: "read",
    execute: async () => null,
  };
  const tools = { ...NOTHING, ...settings };
  const secrets = [{ name: "KEY", description: "", required: false }];
  return new AppTools(
    { default: { tools, secrets } },
    {
      clock: new ManualClock(),
      logger: recordingLogger(),
      vault,
      plan: () => [fixedSource("fixed", [fixed]), ...clientToolSources(tools, schemaChecks.of("default"))],
    },
  );
}

const { signal } = new AbortController();
const open = (
  settings: Pick<ToolSettings, "client" | "allowsClientTools">,
  clientTools?: NonNullable<TurnOptions["clientTools"]>,
) =>
  appTools(settings).open(
    toolTurn("default", { clientId: "me", options: clientTools === undefined ? {} : { clientTools } }),
    signal,
  );

describe("client tools", () => {
  it("are unsafe unless they are repeatable", async () => {
    const { definitions } = await open({ client: { look: LOOK, peek: { ...LOOK, repeatable: true } } });
    expect(definitions.slice(1)).toEqual([
      { ...LOOK, name: "look", effect: "unsafe" },
      { ...LOOK, name: "peek", effect: "idempotent" },
    ]);
  });

  it("ask a client to run the call, with their own time", async () => {
    const peek = { ...LOOK, repeatable: true, timeoutMs: 5_000 };
    const tools = await open({ client: { look: LOOK, peek } });
    const input = { city: "Bern" };
    expect(await tools.decide("look", input)).toEqual({
      kind: "ask",
      request: { kind: "client_tool", request: { tool: "look", input }, repeatable: false },
    });
    expect(await tools.decide("peek", input)).toEqual({
      kind: "ask",
      request: {
        kind: "client_tool",
        request: { tool: "peek", input },
        repeatable: true,
        timeoutMs: 5_000,
      },
    });
  });

  it.each<[string, JsonValue, string]>([
    ["does not fit the schema", { city: 7 }, "city"],
    ["has more than 64 KiB", { city: "x".repeat(65_536) }, "more than 64 KiB"],
    ["has a secret", { city: `at ${SECRET}` }, "reads like one of the user's secrets"],
  ])("do not ask a client if the input %s", async (_what, input, reason) => {
    const tools = await open({ client: { look: LOOK } });
    const decision = await tools.decide("look", input);
    expect(decision).toMatchObject({ kind: "deny", isError: true, output: expect.stringContaining(reason) });
    expect(JSON.stringify(decision)).not.toContain(SECRET);
  });

  it("never run in the service", async () => {
    const tools = await open({ client: { look: LOOK } });
    const options = { callId: "c", timeoutMs: 1_000, signal, clock: new ManualClock() };
    expect(await tools.call("look", { city: "Bern" }, options)).toMatchObject({ isError: true });
  });
});

describe("client tools that a chat offers", () => {
  const names = async (...parameters: Parameters<typeof open>) =>
    (await open(...parameters)).definitions.map(({ name }) => name);

  it("are tools of its turn only, if the App allows it", async () => {
    const settings = { client: { look: LOOK }, allowsClientTools: true };
    expect(await names(settings, { draw: LOOK })).toEqual(["fixed", "look", "draw"]);
    expect(await names(settings)).toEqual(["fixed", "look"]);
    expect(await names({ client: { look: LOOK } }, { draw: LOOK })).toEqual(["fixed", "look"]);
  });

  it("do not replace tools of the App", async () => {
    const offered = { fixed: { ...LOOK, description: "Offered" }, look: { ...LOOK, repeatable: true } };
    const { definitions } = await open({ client: { look: LOOK }, allowsClientTools: true }, offered);
    expect(definitions.map(({ name, effect }) => [name, effect])).toEqual([
      ["fixed", "read"],
      ["look", "unsafe"],
    ]);
  });
});

describe("the result of a client tool", () => {
  const clean = (result: JsonObject) =>
    appTools({ client: { look: LOOK } }).cleanResult({ app: "default", clientId: "me" }, result);

  it.each(Object.entries(LEAKS))("has no secret %s, in outputs and errors", async (_way, leak) => {
    const leaked = leak(SECRET);
    const output = await clean({ output: leaked });
    expect(JSON.stringify(output).includes(JSON.stringify(leaked))).toBe(false);
    const text = typeof leaked === "string" ? leaked : JSON.stringify(leaked);
    const { error } = await clean({ error: text });
    expect(JSON.stringify(error).includes(JSON.stringify(text))).toBe(false);
    for (const result of [output, error]) {
      expect(JSON.stringify(result).includes(SECRET)).toBe(false);
      expect(/\[secret\]|\[Cut: /.test(JSON.stringify(result))).toBe(true);
    }
  });

  it("has at most 64 KiB of output", async () => {
    const fits = "x".repeat(65_534);
    expect(await clean({ output: fits })).toEqual({ output: fits });
    const { output } = await clean({ output: `${fits}x` });
    expect(output).toContain("[Cut: this is the beginning of 65537 bytes.]");
    expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(65_536);
  });

  it("has a short error without control characters", async () => {
    expect(await clean({ error: "no\u0000 camera" })).toEqual({
      error: expect.not.stringContaining("\u0000"),
    });
    const { error } = await clean({ error: "x".repeat(70_000) });
    expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThan(8_192);
  });
});
