import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import type { Tool, ToolRegistry, TurnTools } from "../core/ports/tool.ts";
import { createToolRegistry } from "./registry.ts";
import { toolTurn } from "./testing/tool-turn.ts";

function named(name: string, inputSchema: Tool["inputSchema"] = { type: "object" }): Tool {
  return { name, description: "", inputSchema, effect: "read", execute: async () => name };
}

const { signal } = new AbortController();

function toolsOf(registry: ToolRegistry, app: string): Promise<TurnTools> {
  return registry.open(toolTurn(app), signal);
}

const options = {
  callId: "call-1",
  timeoutMs: 1_000,
  signal,
  clock: new ManualClock(),
};

describe("the registry of tools", () => {
  it("offers each App its own tools, in their order, and nothing to others", async () => {
    const registry = createToolRegistry({ default: [named("b"), named("a")], defi: [named("swap")] });
    const names = async (app: string) => (await toolsOf(registry, app)).definitions.map(({ name }) => name);
    expect(await names("default")).toEqual(["b", "a"]);
    expect(await names("defi")).toEqual(["swap"]);
    for (const app of ["unknown", "constructor", "__proto__"]) expect(await names(app)).toEqual([]);
    const { definitions } = await toolsOf(registry, "default");
    expect((await toolsOf(registry, "default")).definitions).toBe(definitions);
  });

  it("runs a tool of the App and no other App's", async () => {
    const registry = createToolRegistry({ default: [named("a")], defi: [named("swap")], empty: [] });
    expect(await (await toolsOf(registry, "defi")).call("swap", {}, options)).toEqual({
      output: "swap",
      isError: false,
    });
    expect(await (await toolsOf(registry, "default")).call("swap", {}, options)).toEqual({
      output: "There is no tool with this name. The tools are a.",
      isError: true,
    });
    for (const [app, name] of [
      ["empty", "a"],
      ["unknown", "a"],
      ["constructor", "toString"],
    ] as const) {
      expect(await (await toolsOf(registry, app)).call(name, {}, options)).toEqual({
        output: "There is no tool with this name. There are no tools.",
        isError: true,
      });
    }
  });

  it.each([
    ["an empty name", [named("")], "1 to 64"],
    ["a name with a space", [named("a b")], "1 to 64"],
    ["a name that is too long", [named("a".repeat(65))], "1 to 64"],
    ["a name given twice", [named("a"), named("a")], "App default: the tool a is given twice."],
    [
      "a schema that cannot be checked",
      [named("a", { $ref: "https://example.com/schema" })],
      "input schema of the tool a",
    ],
  ])("is not built with %s", (_case, tools, message) => {
    expect(() => createToolRegistry({ default: tools })).toThrow(message);
  });
});
