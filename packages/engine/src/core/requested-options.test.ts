import { describe, expect, it } from "vitest";
import { readTurnOptions } from "./requested-options.ts";

const SCHEMA = { type: "object", properties: { pattern: { type: "string" } } };
const TOOL = { description: "Draws", inputSchema: SCHEMA };
/** Half of the values that the tools of a chat may have, and one more. */
const HALF = { type: "object", enum: Array(2_046).fill(1) };

const tools = (count: number, tool: object = TOOL) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`tool_${index}`, tool]));

describe("options of a chat", () => {
  it("are absent if they are null or undefined", () => {
    expect(readTurnOptions({})).toEqual({});
    expect(readTurnOptions({ clientTools: null, responseSchema: null })).toEqual({});
    expect(readTurnOptions({ clientTools: undefined, responseSchema: undefined })).toEqual({});
  });

  it("hold the schema of the answer as it is", () => {
    const responseSchema: unknown = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"const":{"__proto__":1}}}}',
    );
    expect(readTurnOptions({ responseSchema }).responseSchema).toBe(responseSchema);
  });

  it("hold up to 16 tools", () => {
    const clientTools = tools(16);
    expect(readTurnOptions({ clientTools })).toEqual({ clientTools });
  });

  it.each<[string, unknown, string]>([
    ["a pattern", { ...SCHEMA, pattern: "^a" }, 'must not use `pattern`, as it does at "/pattern".'],
    ["another type", { type: "array" }, "must be the schema of an object"],
    ["no object", [SCHEMA], "must be a JSON object."],
    ["text", JSON.stringify(SCHEMA), "must be a JSON object."],
    ["too many values", { type: "object", enum: Array(4_097).fill(1) }, "must have at most 4096 values."],
  ])("reject a response schema with %s", (_what, responseSchema, problem) => {
    expect(() => readTurnOptions({ responseSchema })).toThrow(
      expect.objectContaining({
        code: "parameter_invalid",
        detail: expect.stringContaining(`The body field "response_schema" ${problem}`),
      }),
    );
  });

  it.each<[string, unknown, string]>([
    ["no object", [TOOL], '"client_tools" must be an object of tools by name.'],
    [
      "a tool named __proto__",
      JSON.parse('{"__proto__":{}}'),
      '"client_tools" must have no tool "__proto__".',
    ],
    ["a bad name", { "a b": TOOL }, '"client_tools.a b" must be a tool\'s name'],
    ["no description", { x: { inputSchema: SCHEMA } }, '"client_tools.x.description" must be a string.'],
    [
      "a reference",
      { x: { ...TOOL, inputSchema: { type: "object", $ref: "#" } } },
      '"client_tools.x.inputSchema" must not use `$ref`, as it does at "/$ref".',
    ],
    [
      "too many values",
      { x: { ...TOOL, inputSchema: { type: "object", enum: Array(4_097).fill(1) } } },
      '"client_tools.x.inputSchema" must have at most 4096 values.',
    ],
    [
      "too many values together",
      { x: { ...TOOL, inputSchema: HALF }, y: { ...TOOL, inputSchema: HALF } },
      '"client_tools" must have schemas of at most 4096 values together.',
    ],
  ])("reject tools with %s", (_what, clientTools, problem) => {
    expect(() => readTurnOptions({ clientTools })).toThrow(
      expect.objectContaining({
        code: "parameter_invalid",
        detail: expect.stringContaining(`The body field ${problem}`),
      }),
    );
  });

  it("quote only part of a long unknown name", () => {
    const clientTools = { x: { ...TOOL, ["n".repeat(9_000)]: 1 } };
    expect(() => readTurnOptions({ clientTools })).toThrow(
      expect.objectContaining({ detail: expect.stringMatching(/^(?=.*n{90}).{1,500}$/) }),
    );
  });

  it("count the tools before they look at any", () => {
    let reads = 0;
    const counted = {
      get description() {
        reads += 1;
        return "Draws";
      },
      inputSchema: SCHEMA,
    };
    expect(() => readTurnOptions({ clientTools: tools(17, counted) })).toThrow(
      /"client_tools" must have at most 16 tools/,
    );
    expect(reads).toBe(0);
  });
});
