import { describe, expect, it } from "vitest";
import { anthropicProblems, compatibleProblems, googleProblems, openaiProblems } from "./history-rules.ts";

type Messages = readonly object[];

const hello = { role: "user", content: "Hello" };

describe("compatibleProblems", () => {
  const call = (id: string, name = "tool", args = "{}") => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });
  const calling = (...calls: object[]) => ({ role: "assistant", content: null, tool_calls: calls });
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "4" });
  const answer = { role: "assistant", content: "Hi" };

  it("accepts calls with results, between a user message and an answer", () => {
    const messages = [hello, calling(call("abcdefghi")), result("abcdefghi"), answer, hello];
    expect(compatibleProblems({ messages })).toEqual([]);
  });

  it.each<[string, Messages]>([
    ["two user messages in a row", [hello, hello]],
    ["a user message after a result", [hello, calling(call("abcdefghi")), result("abcdefghi"), hello]],
    ["a blank answer", [hello, { role: "assistant", content: " " }, hello]],
    ["an answer at the end", [hello, answer]],
    ["an answer at the beginning", [answer, hello]],
    ["a call without a result", [hello, calling(call("abcdefghi")), answer, hello]],
    ["a result without a call", [hello, result("abcdefghi")]],
    [
      "results out of order",
      [hello, calling(call("abcdefghi"), call("abcdefghj")), result("abcdefghj"), result("abcdefghi")],
    ],
    ["a long id", [hello, calling(call("x".repeat(40))), result("x".repeat(40))]],
    [
      "an id that occurs twice",
      [hello, calling(call("abcdefghi"), call("abcdefghi")), result("abcdefghi"), result("abcdefghi")],
    ],
    ["a name with a dot", [hello, calling(call("abcdefghi", "files.read")), result("abcdefghi")]],
    [
      "arguments that are no object",
      [hello, calling(call("abcdefghi", "tool", "null")), result("abcdefghi")],
    ],
    ["reasoning of an earlier turn", [hello, { ...answer, reasoning_content: "so" }, hello]],
  ])("refuses %s", (_, messages) => {
    expect(compatibleProblems({ messages })).not.toEqual([]);
  });
});

describe("openaiProblems", () => {
  const call = { type: "function_call", call_id: "call_1", name: "tool", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "call_1", output: "4" };
  const reasoning = { type: "reasoning", id: "rs_1", encrypted_content: "e", summary: [] };
  const answer = { role: "assistant", content: [{ type: "output_text", text: "Hi" }] };

  it("accepts reasoning before its call, and the call's output after it", () => {
    expect(openaiProblems({ input: [hello, reasoning, call, output, answer, hello] })).toEqual([]);
  });

  it.each<[string, Messages]>([
    ["a call without an output", [hello, call, hello]],
    ["an output without a call", [hello, output]],
    ["a long call id", [hello, { ...call, call_id: "x".repeat(65) }, { ...output, call_id: "x".repeat(65) }]],
    ["a name with a space", [hello, { ...call, name: "get weather" }, output]],
    ["arguments that are no object", [hello, { ...call, arguments: "[]" }, output]],
    ["a call id that occurs twice", [hello, call, output, call, output]],
    ["reasoning without its item", [hello, reasoning, hello]],
    [
      "reasoning without encrypted content",
      [hello, { ...reasoning, encrypted_content: null }, answer, hello],
    ],
    ["an item that occurs twice", [hello, reasoning, answer, reasoning, answer, hello]],
    ["a reference to a stored item", [hello, { type: "item_reference", id: "rs_1" }, hello]],
    ["an answer at the end", [hello, answer]],
    ["a blank message", [{ role: "user", content: [{ type: "input_text", text: " " }] }]],
  ])("refuses %s", (_, input) => {
    expect(openaiProblems({ input })).not.toEqual([]);
  });
});

describe("anthropicProblems", () => {
  const call = (id: string, more: object = {}) => ({
    type: "tool_use",
    id,
    name: "tool",
    input: {},
    ...more,
  });
  const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "4" });
  const text = (text: string) => ({ type: "text", text });
  const message = (role: string, ...content: object[]) => ({ role, content });
  const tools = [{ name: "tool" }];

  it("accepts results at the beginning of the next user message", () => {
    const messages = [
      hello,
      message("assistant", call("a"), call("b")),
      message("user", result("a"), result("b"), text("and?")),
    ];
    expect(anthropicProblems({ messages, tools })).toEqual([]);
  });

  it.each<[string, Messages]>([
    ["a blank text block", [hello, message("assistant", text(" ")), hello]],
    ["an empty answer", [hello, message("assistant"), hello]],
    ["two user messages in a row", [hello, hello]],
    ["a call without a result", [hello, message("assistant", call("a")), hello]],
    ["a result without a call", [message("user", result("a"))]],
    [
      "a result after text",
      [hello, message("assistant", call("a")), message("user", text("x"), result("a"))],
    ],
    [
      "an id with a dot and a colon",
      [hello, message("assistant", call("functions.x:0")), message("user", result("functions.x:0"))],
    ],
    [
      "a name with a dot",
      [hello, message("assistant", call("a", { name: "files.read" })), message("user", result("a"))],
    ],
    [
      "arguments that are no object",
      [hello, message("assistant", call("a", { input: null })), message("user", result("a"))],
    ],
    [
      "an id that occurs twice",
      [hello, message("assistant", call("a"), call("a")), message("user", result("a"), result("a"))],
    ],
    [
      "thinking without a signature",
      [hello, message("assistant", { type: "thinking", thinking: "so" }, text("Hi")), hello],
    ],
    [
      "an answer that ends with thinking",
      [hello, message("assistant", { type: "thinking", thinking: "so", signature: "s" }), hello],
    ],
    ["an answer at the end", [hello, message("assistant", text("Hi"))]],
  ])("refuses %s", (_, messages) => {
    expect(anthropicProblems({ messages, tools })).not.toEqual([]);
  });

  it("refuses calls without tools", () => {
    const messages = [hello, message("assistant", call("a")), message("user", result("a"))];
    expect(anthropicProblems({ messages })).not.toEqual([]);
  });
});

describe("googleProblems", () => {
  const content = (role: string, ...parts: object[]) => ({ role, parts });
  const asked = content("user", { text: "Hello" });
  const call = (name = "tool", args: unknown = {}) => ({ functionCall: { name, args } });
  const response = (name = "tool") => ({ functionResponse: { name, response: {} } });
  const answer = content("model", { text: "Hi" });

  it("accepts a response right after each call", () => {
    const contents = [
      asked,
      content("model", call(), call()),
      content("user", response(), response()),
      answer,
      asked,
    ];
    expect(googleProblems({ contents })).toEqual([]);
  });

  it.each<[string, Messages]>([
    ["a blank part", [asked, content("model", { text: "" }), asked]],
    ["a content without parts", [asked, content("model"), asked]],
    ["a call without a response", [asked, content("model", call()), asked]],
    ["fewer responses than calls", [asked, content("model", call(), call()), content("user", response())]],
    ["a response without a call", [asked, content("user", response())]],
    [
      "a name that starts with a digit",
      [asked, content("model", call("1st")), content("user", response("1st"))],
    ],
    [
      "arguments that are no object",
      [asked, content("model", call("tool", "")), content("user", response())],
    ],
    ["two answers in a row", [asked, answer, answer, asked]],
    ["an answer at the end", [asked, answer]],
    ["an answer at the beginning", [answer, asked]],
  ])("refuses %s", (_, contents) => {
    expect(googleProblems({ contents })).not.toEqual([]);
  });
});
