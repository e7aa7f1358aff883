import { describe, expect, it } from "vitest";
import { recordedFetch } from "./recorded-fetch.ts";
import { RequestLog } from "./request-log.ts";

const ORIGIN = "http://127.0.0.1:8080";

function recording(answer: typeof globalThis.fetch): { log: RequestLog; fetch: typeof globalThis.fetch } {
  const log = new RequestLog();
  return { log, fetch: recordedFetch({ log, fetch: answer, page: `${ORIGIN}/` }) };
}

describe("a recorded request", () => {
  it("has its response's status and request id, and passes it on unchanged", async () => {
    const response = new Response("{}", { status: 201, headers: { "X-Request-Id": "r-1" } });
    const { log, fetch } = recording(async () => response);
    const answer = await fetch("/api/chat?x=1", { method: "post", headers: { Accept: "a" }, body: "{}" });
    expect(answer).toBe(response);
    expect(log.getSnapshot()).toMatchObject([
      {
        number: 1,
        method: "POST",
        url: `${ORIGIN}/api/chat?x=1`,
        headers: [{ name: "Accept", value: "a", variable: null }],
        body: "{}",
        outcome: { status: 201, requestId: "r-1", failure: null },
      },
    ]);
  });

  it("is listed before its response arrives", async () => {
    const answer = Promise.withResolvers<Response>();
    const { log, fetch } = recording(() => answer.promise);
    const pending = fetch("/api/state");
    expect(log.getSnapshot()).toMatchObject([{ method: "GET", outcome: null }]);
    answer.resolve(new Response(null, { status: 204 }));
    await pending;
    expect(log.getSnapshot()).toMatchObject([{ outcome: { status: 204, requestId: null } }]);
  });

  it("contains no key", async () => {
    const { log, fetch } = recording(async () => new Response());
    await fetch("/api/state", { headers: [["service-app-key", "s3cret"]] });
    await fetch(new Request(`${ORIGIN}/api/state`, { headers: { "SERVICE-APP-KEY": "s3cret" } }));
    expect(log.getSnapshot()).toHaveLength(2);
    expect(JSON.stringify(log.getSnapshot())).not.toContain("s3cret");
  });
});

it("records why there was no response, and rethrows the error", async () => {
  const failure = new TypeError("Failed to fetch");
  const failed = recording(() => Promise.reject(failure));
  await expect(failed.fetch("/api/state")).rejects.toBe(failure);
  expect(failed.log.getSnapshot()[0]?.outcome).toMatchObject({ status: 0, failure: "Failed to fetch" });

  const abort = new AbortController();
  const ended = recording(async (_input, init) => {
    init?.signal?.throwIfAborted();
    return new Response();
  });
  abort.abort(new Error("left"));
  await expect(ended.fetch("/api/state", { signal: abort.signal })).rejects.toThrow("left");
  expect(ended.log.getSnapshot()[0]?.outcome).toMatchObject({ status: 0, failure: "aborted by the console" });
});

it("is kept until three hundred newer ones follow", () => {
  const log = new RequestLog();
  const call = { method: "GET", url: ORIGIN, headers: [], body: null };
  for (let number = 1; number <= 301; number += 1) log.begin(call, 0);
  log.end(1, { status: 200, durationMs: 1, requestId: null, failure: null });
  const kept = log.getSnapshot();
  expect([kept.length, kept[0]?.number, kept.at(-1)?.number]).toEqual([300, 2, 301]);
  expect(kept.every(({ outcome }) => outcome === null)).toBe(true);
  log.clear();
  expect(log.begin(call, 0)).toBe(302);
});
