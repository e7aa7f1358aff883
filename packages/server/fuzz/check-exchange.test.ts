import { describe, expect, it } from "vitest";
import { readAnswers } from "./http-reader.ts";
import { checkExchange } from "./check-exchange.ts";

const PROBLEM = {
  type: "about:blank",
  title: "Bad Request",
  status: 400,
  detail: "Send a message.",
  code: "message_missing",
  request_id: "r1",
};

function check(
  status: number,
  body: unknown,
  options: { type?: string; id?: string | null; valid?: boolean } = {},
) {
  const { type = "application/problem+json", id = "r1", valid = false } = options;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const header = id === null ? "" : `X-Request-Id: ${id}\r\n`;
  const raw = `HTTP/1.1 ${status} X\r\nContent-Type: ${type}\r\n${header}Content-Length: ${text.length}\r\n\r\n${text}`;
  const { answers } = readAnswers(Buffer.from(raw), -1, true);
  return checkExchange(
    { kind: "mutated", answers: valid ? 1 : 0 },
    { answers, end: "answered", defect: null },
  );
}

describe("checkExchange", () => {
  it("accepts a problem document, a success, or a closed connection", () => {
    expect(check(400, PROBLEM)).toBeNull();
    expect(check(200, { messages: [] }, { type: "application/json", valid: true })).toBeNull();
    expect(check(404, { ...PROBLEM, status: 404 }, { valid: true })).toBeNull();
    expect(
      checkExchange({ kind: "garbage", answers: 0 }, { answers: [], end: "closed", defect: null }),
    ).toBeNull();
  });

  it.each([
    ["a 500", 500, { ...PROBLEM, status: 500 }, {}, "server error: 500"],
    ["a 501", 501, { ...PROBLEM, status: 501 }, {}, "server error: 501"],
    [
      "an error of the OpenAI API without a code",
      400,
      { error: { message: "A long message" } },
      { type: "application/json" },
      "the code is not",
    ],
    ["an error as plain text", 400, "Bad Request", { type: "text/plain" }, "an error of type text/plain"],
    ["a problem without detail", 400, { ...PROBLEM, detail: undefined }, {}, "not a problem document"],
    ["a problem that is not JSON", 400, "{", {}, "not a problem document"],
    ["another status in the problem", 404, PROBLEM, {}, "status 400 in the problem document"],
    ["a code with capitals", 400, { ...PROBLEM, code: "FST_ERR" }, {}, "snake_case"],
    ["another request id", 400, PROBLEM, { id: "r2" }, "request_id differs"],
    ["no request id", 200, "{}", { type: "application/json", id: null }, "no X-Request-Id"],
    ["broken JSON", 200, "{", { type: "application/json" }, "not JSON"],
    ["a valid request refused", 400, PROBLEM, { valid: true }, "a valid request was refused: 400"],
  ])("rejects %s", (_what, status, body, options, message) => {
    expect(check(status, body, options)).toContain(message);
  });

  it.each([
    ["hung", { answers: [], end: "hung", defect: null }, "neither answers nor closes"],
    ["was refused", { answers: [], end: "refused", defect: null }, "refuses connections"],
    ["was cut off", { answers: [], end: "closed", defect: "the answer was cut off" }, "cut off"],
  ] as const)("rejects an exchange that %s", (_what, exchange, message) => {
    expect(checkExchange({ kind: "mutated", answers: 0 }, exchange)).toContain(message);
  });

  it("requires an answer to each valid request", () => {
    expect(
      checkExchange({ kind: "pipelined", answers: 2 }, { answers: [], end: "closed", defect: null }),
    ).toBe("0 answers to 2 valid requests");
  });
});
