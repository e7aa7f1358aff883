// The event stream against responses that a test writes byte by byte, on a manual clock.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream } from "./event-stream.ts";

interface Asked {
  readonly headers: Headers;
  readonly signal: AbortSignal;
  answer(response: Response): void;
  answerWith(body: Body): void;
}

/** A response body written by hand. */
interface Body {
  readonly response: Response;
  write(text: string): void;
  close(): void;
  fail(reason: Error): void;
}

const frame = (id: string, fields: object): string => `id: ${id}\ndata: ${JSON.stringify(fields)}\n\n`;

let asked: Asked[];
let timers: Map<() => void, number>;
let stream: EventStream;
let leave: () => void;

beforeEach(() => {
  asked = [];
  timers = new Map();
  stream = new EventStream({
    sessionId: "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c",
    key: "the-key",
    fetch: (_input, init) =>
      new Promise((resolve, reject) => {
        const signal = init?.signal as AbortSignal;
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        asked.push({
          headers: new Headers(init?.headers),
          signal,
          answer: resolve,
          // The end of a request ends its body.
          answerWith: ({ response, fail }) => {
            signal.addEventListener("abort", () => fail(signal.reason as Error));
            resolve(response);
          },
        });
      }),
    after: (ms, callback) => {
      timers.set(callback, ms);
      return () => void timers.delete(callback);
    },
  });
  leave = stream.subscribe(() => {});
});

afterEach(() => leave());

function body(): Body {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const readable = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  return {
    response: new Response(readable, { headers: { "Content-Type": "text/event-stream" } }),
    write: (text) => controller.enqueue(new TextEncoder().encode(text)),
    close: () => controller.close(),
    fail: (reason) => controller.error(reason),
  };
}

async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; !condition(); round += 1) {
    if (round > 1_000) throw new Error(`Condition never became true: ${condition.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function passTime(ms: number): void {
  for (const [callback, due] of timers)
    if (due <= ms) {
      timers.delete(callback);
      callback();
    }
}

const connection = () => stream.getSnapshot().connection;
const ids = () => stream.getSnapshot().log.events.map(({ id }) => id);

describe("the event stream of the developer panel", () => {
  it("starts with all stored events, sends the key, and shows ids as received", async () => {
    expect(asked[0]!.headers.get("Last-Event-ID")).toBe("0");
    expect(asked[0]!.headers.get("SERVICE-APP-KEY")).toBe("the-key");
    const answer = body();
    asked[0]!.answerWith(answer);
    answer.write(`retry: 2000\n\n${frame("a-1", { type: "message_created" })}id: a-`);
    await until(() => ids().length === 1);
    answer.write(`2\ndata: {"type":"title_changed"}\n\n`);
    await until(() => ids().length === 2);
    expect(ids()).toEqual(["a-1", "a-2"]);
    expect(connection()).toBe("live");
  });

  it("resumes from the last id after a break, and reports that it waits", async () => {
    const first = body();
    asked[0]!.answerWith(first);
    first.write(`${frame("a-1", { type: "message_created" })}id: a-9\n\n`);
    await until(() => ids().length === 1);
    first.close();
    await until(() => connection() === "waiting");
    expect(asked).toHaveLength(1);
    passTime(2_000);
    await until(() => asked.length === 2);
    expect(asked[1]!.headers.get("Last-Event-ID")).toBe("a-9");
  });

  it("reconnects after forty seconds of silence", async () => {
    const silent = body();
    asked[0]!.answerWith(silent);
    silent.write(": heartbeat\n\n");
    await until(() => connection() === "live");
    passTime(40_000);
    await until(() => connection() === "waiting");
    expect(asked[0]!.signal.aborted).toBe(true);
    passTime(2_000);
    await until(() => asked.length === 2);
  });

  it("reports a refusal, and retries on request", async () => {
    asked[0]!.answer(Response.json({ detail: "The App key is not known." }, { status: 401 }));
    await until(() => connection() === "over");
    expect(stream.getSnapshot().problem).toBe("The App key is not known.");
    expect([asked.length, timers.size]).toEqual([1, 0]);
    stream.again();
    await until(() => asked.length === 2);
  });

  it("recovers from transient failures", async () => {
    asked[0]!.answer(new Response("a gateway", { status: 502 }));
    await until(() => connection() === "waiting");
    expect(stream.getSnapshot().problem).toBe("The service answered with status 502.");
  });

  it("does not create a deleted session again", async () => {
    const answer = body();
    asked[0]!.answerWith(answer);
    answer.write(frame("a-1", { type: "system_notice", code: "session_deleted" }));
    answer.close();
    await until(() => connection() === "over");
    leave();
    leave = stream.subscribe(() => {});
    passTime(100_000);
    expect(asked).toHaveLength(1);
  });

  it("removes its abort listeners when a connection breaks", async () => {
    const [add, remove] = [
      vi.spyOn(AbortSignal.prototype, "addEventListener"),
      vi.spyOn(AbortSignal.prototype, "removeEventListener"),
    ];
    for (let round = 1; round <= 3; round += 1) {
      asked.at(-1)!.answer(new Response("a gateway", { status: 502 }));
      await until(() => connection() === "waiting");
      passTime(2_000);
      await until(() => asked.length === round + 1);
    }
    // This test's service listens to the abort signal of each request, too.
    const requests = new Set<unknown>(asked.map(({ signal }) => signal));
    const own = add.mock.contexts.filter((signal) => !requests.has(signal));
    expect([own.length, remove.mock.contexts.length]).toEqual([3, 3]);
    vi.restoreAllMocks();
  });

  it("closes without subscribers, and keeps its log", async () => {
    const answer = body();
    asked[0]!.answerWith(answer);
    answer.write(frame("a-1", { type: "message_created" }));
    await until(() => ids().length === 1);
    leave();
    expect(asked[0]!.signal.aborted).toBe(true);
    leave = stream.subscribe(() => {});
    await until(() => asked.length === 2);
    expect(asked[1]!.headers.get("Last-Event-ID")).toBe("a-1");
    expect(ids()).toEqual(["a-1"]);
  });
});
