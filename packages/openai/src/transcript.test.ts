import { describe, expect, it } from "vitest";
import { readMessages } from "./chat-input.ts";
import { readItems } from "./response-input.ts";
import { readRequest, turnsOf } from "./transcript.ts";

const CALL = { type: "function_call", call_id: "c1", name: "look", arguments: '{"at":"sky"}' };
const OUTPUT = { type: "function_call_output", call_id: "c1", output: "blue" };
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

describe("readRequest", () => {
  it("joins the last user messages into one, and returns earlier items as history", () => {
    const items = [user("one"), assistant("two"), user("three"), user("four")];
    expect(readRequest(readItems(items, "input"), "input")).toEqual({
      instructions: null,
      history: [{ user: "one", files: [], steps: [{ text: "two", calls: [] }] }],
      answers: [],
      message: "three\n\nfour",
      files: [],
    });
  });

  it.each([
    ["blank", " \n", 400, "message_blank"],
    ["too long", "x".repeat(32_769), 413, "message_too_long"],
  ])("throws if the new message is %s, but accepts it in the history", (_what, text, status, code) => {
    const refusal = expect.objectContaining({ status, code }) as unknown;
    expect(() => readRequest(readItems(text, "input"), "input")).toThrow(refusal);
    expect(() => readRequest(readMessages([user(text)]), "messages")).toThrow(refusal);
    const items = readItems([user(text), assistant("yes"), user("hi")], "input");
    expect(readRequest(items, "input")).toMatchObject({ history: [{ user: text }], message: "hi" });
  });

  it("returns no message for a request that ends with outputs of calls", () => {
    const request = readRequest(readItems([user("one"), CALL, OUTPUT], "input"), "input");
    expect(request).toMatchObject({
      message: null,
      history: [],
      answers: [{ kind: "output", callId: "c1", output: "blue" }],
    });
  });

  it("returns outputs before a message as history", () => {
    const { history, message } = readRequest(readItems([CALL, OUTPUT, user("and?")], "input"), "input");
    expect(message).toBe("and?");
    expect(history).toEqual([
      {
        user: "",
        files: [],
        steps: [{ text: "", calls: [{ id: "c1", name: "look", arguments: { at: "sky" }, output: "blue" }] }],
      },
    ]);
  });

  it("joins instructions from any position", () => {
    const items = [{ role: "system", content: "a" }, user("hi"), { role: "developer", content: "b" }];
    expect(readRequest(readItems(items, "input"), "input").instructions).toBe("a\n\nb");
  });
});

describe("turnsOf", () => {
  it("starts a step at each assistant message, and at calls that follow outputs", () => {
    const other = { ...CALL, call_id: "c2" };
    const items = [user("look"), CALL, OUTPUT, other, { ...OUTPUT, call_id: "c2" }, assistant("Blue.")];
    expect(turnsOf(readItems(items, "input"))).toMatchObject([
      {
        user: "look",
        files: [],
        steps: [{ calls: [{ id: "c1" }] }, { calls: [{ id: "c2" }] }, { text: "Blue." }],
      },
    ]);
  });

  it("groups consecutive calls into one step, including calls without an output", () => {
    const items = [user("look"), CALL, { ...CALL, call_id: "c2" }, OUTPUT];
    const [turn] = turnsOf(readItems(items, "input"));
    expect(turn?.steps).toMatchObject([{ calls: [{ output: "blue" }, { output: undefined }] }]);
  });

  it("binds outputs to calls with the same id in their order, and gives each call another id", () => {
    const other = { ...CALL, name: "delete" };
    const second = { ...OUTPUT, output: "deleted" };
    const calls = [
      { name: "look", output: "blue" },
      { name: "delete", output: "deleted" },
    ];
    for (const items of [
      [user("look"), CALL, other, OUTPUT, second],
      [user("look"), CALL, OUTPUT, other, second],
    ]) {
      const made = turnsOf(readItems(items, "input")).flatMap(({ steps }) =>
        steps.flatMap((step) => step.calls),
      );
      expect(made).toMatchObject(calls);
      expect(new Set(made.map(({ id }) => id)).size).toBe(2);
    }
  });

  it("returns the same turns for Chat Completions messages", () => {
    const messages = [
      user("look"),
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: CALL.arguments } }],
      },
      { role: "tool", tool_call_id: "c1", content: "blue" },
      assistant("Blue."),
    ];
    expect(turnsOf(readMessages(messages))).toEqual(
      turnsOf(readItems([user("look"), CALL, OUTPUT, assistant("Blue.")], "input")),
    );
  });
});
