import { describe, expect, it } from "vitest";
import { createRandom, type Random } from "../../torture/harness/random.ts";
import { KEPT_MAX_BYTES, parseConversation } from "./conversation-body.ts";

const parse = (text: string | Buffer) => parseConversation(Buffer.from(text));
const body = (messages: string) => `{"id":"a","messages":[${messages}],"trigger":"b"}`;

describe("parseConversation", () => {
  it.each([
    ["one message", body('{"a":[1,2]}'), [{ a: [1, 2] }]],
    ["several", body('{"a":[{"b":"]}"}]},[],"x,",{"z":1}'), [{ z: 1 }]],
    ["white space between them", body('\n{ } ,\t"x" ,\r\n{"z":1} '), [{ z: 1 }]],
    ["escaped quotes and backslashes", body(String.raw`"\\","\"]","\\\"",7`), [7]],
    ["no message", body(" "), []],
    ["a byte order mark", `\ufeff${body("1,2")}`, [2]],
    ["white space around the name", '{"messages" :\n [1,2],"id":"a","trigger":"b"}', [2]],
    ["messages of others", '{"more":{"messages":[1,2]},"messages":[3,4],"id":"a","trigger":"b"}', [4]],
    ["the name as a value", '{"id":"messages","messages":[3,4],"trigger":"b"}', [4]],
    ["long text before the last", body(`"${"x".repeat(2 * KEPT_MAX_BYTES)}",2`), [2]],
  ])("keeps the last message of %s", (_what, text, messages) => {
    expect(parse(text)).toMatchObject({ ok: true, value: { messages } });
  });

  it("keeps the answers at the end, and at most 64 of them", () => {
    const kept = (...messages: readonly string[]) =>
      parseConversation(Buffer.from(body(messages.join(" , "))), (message) => message === "answer");
    const answer = '"answer"';
    expect(kept('"a"', answer, '"b"', answer, answer)).toMatchObject({
      value: { messages: ["answer", "answer"] },
    });
    expect(kept(answer, '"b"')).toMatchObject({ value: { messages: ["b"] } });
    expect(kept(answer, answer)).toMatchObject({ value: { messages: ["answer", "answer"] } });
    const many = kept('"a"', ...Array.from({ length: 500 }, () => answer));
    expect(many).toMatchObject({ value: { messages: Array.from({ length: 64 }, () => "answer") } });
  });

  it("keeps every message under a name with escapes, which counts in full", () => {
    const text = (messages: string) => String.raw`{"mess\u0061ges":[${messages}]}`;
    expect(parse(text("1,2"))).toEqual({ ok: true, value: { messages: [1, 2] } });
    expect(() => parse(text("1,".repeat(KEPT_MAX_BYTES)))).toThrow("Send at most 1048576");
  });

  it.each([
    ["a message that is not closed", body('{"a":1,{}'), "json_invalid"],
    ["brackets that do not match", body('{"a":[}],{}'), "json_invalid"],
    ["a text that is not closed", '{"messages":["a', "json_invalid"],
    ["a text that ends with a backslash", '{"messages":["a\\', "json_invalid"],
    ["an array that is not closed", '{"messages":[{},{}', "json_invalid"],
    ["an empty element", body("{},,{}"), "json_invalid"],
    ["an empty first element", body(" ,{}"), "json_invalid"],
    ["a comma after the last message", body("{},"), "json_invalid"],
    ["a comma after the last message and white space", body("{}, \n"), "json_invalid"],
    ["a last message that is no JSON", body("{},{a}"), "json_invalid"],
    ["two messages without a comma", body("{},{} {}"), "json_invalid"],
    ["text after the body", `${body("{},{}")}{}`, "json_invalid"],
    ["a repeated name", '{"messages":[1,2],"messages":[3,4]}', "json_invalid"],
    ["a name repeated with escapes", String.raw`{"messages":[1,2],"mess\u0061ges":[3]}`, "json_invalid"],
    ["a repeated name in the last message", body('{},{"a":1,"a":2}'), "json_invalid"],
    ["a rounded number in the last message", body("1,12345678901234567891"), "json_invalid"],
    ["an earlier message of depth 31", body(`${"[".repeat(31)}${"]".repeat(31)},1`), "json_too_deep"],
    ["a depth bomb that is not closed", body("[".repeat(1_000_000)), "json_too_deep"],
    [
      "half of a character in an earlier message",
      Buffer.from([...Buffer.from('{"messages":["'), 0xe2, 0x82, ...Buffer.from('",1]}')]),
      "text_invalid",
    ],
    ["a lone surrogate in the last message", body(String.raw`1,"\ud800"`), "text_invalid"],
  ])("rejects %s", (_what, text, code) => {
    expect(parse(text)).toMatchObject({ ok: false, code });
  });

  it("rejects a last message and other fields of more than 1 MiB together with 413", () => {
    const most = KEPT_MAX_BYTES - body('""').length;
    const earlier = "{},".repeat(1000);
    expect(parse(body(`${earlier}"${"x".repeat(most)}"`)).ok).toBe(true);
    const beyond = body(`${earlier}"${"x".repeat(most + 1)}"`);
    expect(() => parse(beyond)).toThrow(expect.objectContaining({ status: 413, code: "body_too_large" }));
    expect(() => parse(`{"more":"${"x".repeat(KEPT_MAX_BYTES)}","messages":[1,2]}`)).toThrow("Send at most");
  });

  it("excludes up to 16 MiB of file data from the limit", () => {
    const file = (length: number) => body(`{"url":"data:image/png;base64,${"A".repeat(length)}"}`);
    expect(parse(file(2 * KEPT_MAX_BYTES)).ok).toBe(true);
    expect(parse(body(`{"data":"${"A".repeat(2 * KEPT_MAX_BYTES)}"}`)).ok).toBe(true);
    expect(() => parse(file(17 * KEPT_MAX_BYTES))).toThrow("Send at most");
    const more = `{"text":"${"x".repeat(KEPT_MAX_BYTES)}","data":"AAAA"}`;
    expect(() => parse(body(more))).toThrow("Send at most");
  });

  it("finds the same last message as JSON.parse, for any messages", () => {
    const random = createRandom("conversations");
    for (let run = 0; run < 2_000; run += 1) {
      const messages = Array.from({ length: random.integer(1, 5) }, () => anyJson(random, 4));
      const text = JSON.stringify(
        { id: anyJson(random, 2), messages, more: anyJson(random, 3) },
        null,
        random.integer(0, 2),
      );
      const whole = JSON.parse(text) as { messages: unknown[] };
      expect(parse(text)).toEqual({ ok: true, value: { ...whole, messages: [whole.messages.at(-1)] } });
    }
  });
});

function anyJson(random: Random, depth: number): unknown {
  const kind = random.integer(0, depth > 0 ? 5 : 3);
  if (kind === 0) return random.integer(-5, 5);
  if (kind === 1) return random.pick([null, true, false]);
  if (kind <= 3) return random.pick(["", "messages", '"', "\\", '\\"', ",", "[{", "}]", "é漢👋", "\n\t"]);
  const items = Array.from({ length: random.integer(0, 3) }, () => anyJson(random, depth - 1));
  if (kind === 4) return items;
  return Object.fromEntries(items.map((item) => [random.pick(["messages", "a", '"', "é"]), item]));
}
