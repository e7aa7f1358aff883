import { describe, expect, it } from "vitest";
import { readAnswers } from "./http-reader.ts";

function read(text: string, { bodiless = -1, ended = false } = {}) {
  const { answers, rest } = readAnswers(Buffer.from(text), bodiless, ended);
  return { answers: answers.map(({ status, body }) => [status, body.toString()]), rest: rest.toString() };
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

describe("readAnswers", () => {
  it("reads consecutive bodies with a length, chunks, or none", () => {
    const chunked =
      "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
    expect(read(`${OK}${chunked}HTTP/1.1 304 Not Modified\r\n\r\n${OK}`)).toEqual({
      answers: [
        [200, "hi"],
        [404, "abc0123456789"],
        [304, ""],
        [200, "hi"],
      ],
      rest: "",
    });
  });

  it("waits for missing bytes", () => {
    for (let length = 0; length < OK.length; length += 1) {
      expect(read(OK.slice(0, length)).answers).toEqual([]);
    }
    expect(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab").answers).toEqual([]);
  });

  it("skips interim answers and reads no body after HEAD", () => {
    expect(read(`HTTP/1.1 100 Continue\r\n\r\n${OK}`).answers).toEqual([[200, "hi"]]);
    const three =
      "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    expect(read(three, { bodiless: 1 }).answers).toHaveLength(3);
    expect(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", { bodiless: 0 })).toEqual({
      answers: [[200, ""]],
      rest: "",
    });
  });

  it("ends a body without a length at the end of the connection", () => {
    const text = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nwrong";
    expect(read(text).answers).toEqual([]);
    expect(read(text, { ended: true }).answers).toEqual([[400, "wrong"]]);
  });

  it("recognizes an event stream, which has no end", () => {
    const text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 2000\n\n";
    const { answers } = readAnswers(Buffer.from(text), -1, false);
    expect(answers.map(({ streams }) => streams)).toEqual([true]);
  });

  it.each([
    "nonsense\r\n\r\n",
    "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
  ])("rejects %j", (text) => {
    expect(() => read(text)).toThrow(/Not a/);
  });
});
