import type { JSONSchema7 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { ToolRules } from "../core/ports/driven/model.ts";
import type { ToolDefinition } from "../core/ports/driven/tool.ts";
import { ModelCaller } from "./model-step.ts";
import { choiceFor, offerTools, toolsNotOffered } from "./offered-tools.ts";

const STRICTEST: ToolRules = { schemas: "strictest", maxTools: 128 };

function toolOf(name: string, more: object = {}): ToolDefinition {
  return { name, description: "Does it", inputSchema: { type: "object" }, effect: "read", ...more };
}

function named<Value>(count: number, prefix: string, valueOf: () => Value): Record<string, Value> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, valueOf()]));
}

describe("tool definitions", () => {
  it("omit the last server tools first, then the last of the others", () => {
    const all = [
      toolOf("own_1"),
      toolOf("srv_1", { isRemote: true }),
      toolOf("srv_2", { isRemote: true }),
      toolOf("client_1"),
    ];
    const namesFor = (maxTools: number) =>
      offerTools(all, { ...STRICTEST, maxTools }).definitions.map(({ name }) => name);
    expect(namesFor(4)).toEqual(["own_1", "srv_1", "srv_2", "client_1"]);
    expect(namesFor(3)).toEqual(["own_1", "srv_1", "client_1"]);
    expect(namesFor(2)).toEqual(["own_1", "client_1"]);
    expect(namesFor(1)).toEqual(["own_1"]);
    expect(offerTools(all, { ...STRICTEST, maxTools: 2 }).omitted).toEqual([
      { name: "srv_1", reason: "The model takes at most 2 tools." },
      { name: "srv_2", reason: "The model takes at most 2 tools." },
    ]);
  });

  it("omit only the tool whose input is not an object", () => {
    const text = { inputSchema: { type: "string" } as JSONSchema7 };
    const { definitions, omitted } = offerTools([toolOf("text", text), toolOf("fine")], STRICTEST);
    expect(definitions.map(({ name }) => name)).toEqual(["fine"]);
    expect(omitted).toEqual([
      { name: "text", reason: 'The input must be an object, and its schema has the type "string".' },
    ]);
  });

  it("have names that every provider accepts, and map calls back", () => {
    const names = ["1password_get", "_1password_get", "-x", "constructor"];
    const offered = offerTools(
      names.map((name) => toolOf(name)),
      STRICTEST,
    );
    expect(offered.definitions.map(({ name }) => name)).toEqual([
      "_1password_get_2",
      "_1password_get",
      "_-x",
      "_constructor",
    ]);
    expect(offered.restore("_constructor", {})).toEqual({ name: "constructor", input: {} });
    expect(offered.restore("_1password_get_2", {})).toEqual({ name: "1password_get", input: {} });
    expect(offered.restore("_1password_get", {})).toEqual({ name: "_1password_get", input: {} });
    expect(offered.restore("unknown", { a: null })).toEqual({ name: "unknown", input: { a: null } });
  });

  it("are chosen by their own names, in the first step only", () => {
    const offered = offerTools([toolOf("constructor")], STRICTEST);
    expect(choiceFor({ tool: "constructor" }, 1, offered)).toEqual({
      type: "tool",
      toolName: "_constructor",
    });
    expect(choiceFor({ tool: "constructor" }, 2, offered)).toBeUndefined();
    expect(choiceFor({ tool: "omitted" }, 1, offered)).toBeUndefined();
    expect(choiceFor("required", 2, offered)).toBeUndefined();
    expect(choiceFor("none", 2, offered)).toBe("none");
    expect(choiceFor("required", 1, offerTools([], STRICTEST))).toBeUndefined();
  });

  it("omit schemas that explode when expanded, but not small tools after them", () => {
    const multiplied = {
      type: "object",
      properties: named(600, "p", () => ({ $ref: "#/$defs/merged" })),
      $defs: {
        merged: { allOf: Array.from({ length: 64 }, () => ({ $ref: "#/$defs/large" })) },
        large: { type: "object", properties: named(900, "x", () => ({})) },
      },
    } as JSONSchema7;
    const hostile = Array.from({ length: 128 }, (_, n) =>
      toolOf(`hostile_${n}`, { inputSchema: multiplied }),
    );
    const small: JSONSchema7 = {
      type: "object",
      properties: { city: { type: "string", description: "Name of a city" } },
    };
    const { definitions, omitted } = offerTools(
      [...hostile, toolOf("small", { inputSchema: small })],
      STRICTEST,
    );
    expect(definitions.map(({ name }) => name)).toEqual(["small"]);
    expect(omitted).toHaveLength(128);
    expect(omitted[0]?.reason).toBe(
      "The input schema is too large once its references and `allOf` are expanded.",
    );
  });

  it("restore a long array of objects in linear time", () => {
    const item: JSONSchema7 = { type: "object", properties: named(1_000, "é", () => ({ type: "string" })) };
    const list: JSONSchema7 = { type: "object", properties: { list: { type: "array", items: item } } };
    const offered = offerTools([toolOf("many", { inputSchema: list })], STRICTEST);
    const input = { list: Array.from({ length: 20_000 }, () => ({})) };
    expect(offered.restore("many", input).input).toEqual(input);
  });

  it("restore omitted nulls of required properties within the work limit", () => {
    const properties = named(500, "p", (): JSONSchema7 => ({ type: ["string", "null"] }));
    const item: JSONSchema7 = { type: "object", properties, required: Object.keys(properties) };
    const list: JSONSchema7 = { type: "object", properties: { list: { type: "array", items: item } } };
    const offered = offerTools([toolOf("many", { inputSchema: list })], STRICTEST);
    const nulls = named(500, "p", () => null);
    expect(offered.restore("many", { list: [{}] }).input).toEqual({ list: [nulls] });
    const input = { list: Array.from({ length: 20_000 }, () => ({})) };
    expect(offered.restore("many", input).input).toEqual(input);
    expect(offered.restore("many", { list: [{}] }).input).toEqual({ list: [nulls] });
  });

  it("are cached by tools and rules", () => {
    const caller = new ModelCaller();
    const tools = [toolOf("a")];
    expect(caller.offer(tools, STRICTEST)).toBe(caller.offer(tools, { ...STRICTEST }));
    expect(caller.offer(tools, { ...STRICTEST, maxTools: 1 })).not.toBe(caller.offer(tools, STRICTEST));
  });

  it("are reported once per reason for all affected models", () => {
    const tools = [toolOf("a"), toolOf("b", { isRemote: true })];
    const rulesOf = (rig: string): ToolRules => ({ ...STRICTEST, maxTools: rig === "large/one" ? 2 : 1 });
    expect(toolsNotOffered(tools, ["small/one", "large/one", "small/two"], rulesOf)).toEqual([
      { models: ["small/one", "small/two"], names: ["b"], reason: "The model takes at most 1 tools." },
    ]);
  });
});
