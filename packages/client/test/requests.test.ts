// Single requests against a server with scripted responses.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../server/test/manual-clock.ts";
import {
  createClient,
  ColloquyError,
  type Client,
  type ClientOptions,
  type UploadInit,
} from "../src/index.ts";
import { transportOf } from "../src/transport.ts";
import { message, SESSION, snapshot } from "./snapshots.ts";

type Answer = (message: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let clock: ManualClock;
/** Responses in order; the last one repeats. */
let answers: Answer[];
let seen: {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}[];

beforeEach(async () => {
  clock = new ManualClock();
  [answers, seen] = [[], []];
  server = createServer((message, response) => {
    void text(message).then((body) => {
      const { method = "", url = "", headers } = message;
      seen.push({ method, url, headers, body });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      answer?.(message, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (_message, response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
const reset: Answer = (_message, response) => void response.socket?.resetAndDestroy();
const silent: Answer = () => undefined;
/** An error response whose body is cut off. */
const brokenOff: Answer = (_message, response) => {
  response.writeHead(503, { "content-type": "application/problem+json", "content-length": "99" });
  response.write('{"code":', () => response.socket?.resetAndDestroy());
};
const unavailable = (retryAfter?: string): Answer =>
  json(
    { code: "store_unavailable", detail: "Later." },
    503,
    retryAfter === undefined ? {} : { "retry-after": retryAfter },
  );

const inDoubt = (code: string): Answer => json({ code, detail: "Look." }, 503, { "retry-after": "1" });

/** Whether the device has no network, and what it does when the network is back. */
let isOffline = false;
const wakers = new Set<() => void>();

function client(options: ClientOptions = {}, random = 0.5): Client {
  const timing = {
    after: (ms: number, callback: () => void) => clock.after(ms, callback),
    random: () => random,
    onWake: (callback: () => void) => {
      wakers.add(callback);
      return () => void wakers.delete(callback);
    },
    isOffline: () => isOffline,
  };
  const { port } = server.address() as AddressInfo;
  return createClient({ baseUrl: `http://127.0.0.1:${port}/`, timing, ...options });
}

async function until(condition: () => boolean, ms = 0): Promise<void> {
  for (let round = 0; !condition(); round += 1) {
    if (round > 10_000) throw new Error(`Condition never became true: ${condition.toString()}`);
    if (ms > 0) await clock.advance(ms);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Returns the outcome of a promise while the clock advances. */
async function outcome<Value>(promise: Promise<Value>, ms = 250): Promise<Value | ColloquyError> {
  let result: { readonly of: Value | ColloquyError } | null = null;
  promise.then(
    (of) => (result = { of }),
    (of: ColloquyError) => (result = { of }),
  );
  await until(() => result !== null, ms);
  return (result as unknown as { of: Value | ColloquyError }).of;
}

describe("a baseUrl", () => {
  it("is refused at once without a scheme, but may be a path of the page's origin", () => {
    for (const baseUrl of ["localhost:8080", "chat.example.com", "ftp://x"]) {
      expect(() => createClient({ baseUrl })).toThrow(`baseUrl "${baseUrl}" has no scheme. Write https://`);
    }
    for (const baseUrl of ["", "/chat", "//chat.example.com", "HTTPS://chat.example.com"]) {
      expect(() => createClient({ baseUrl })).not.toThrow();
    }
  });
});

describe("an error", () => {
  it("has the service's code, message and request id", async () => {
    const problem = {
      type: "about:blank",
      title: "Not Found",
      status: 404,
      detail: "There is none.",
      code: "session_not_found",
      request_id: "r-7",
    };
    answers = [json(problem, 404, { "x-request-id": "r-7" })];
    const error = await client()
      .getSession(SESSION)
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ColloquyError);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: "ColloquyError",
      code: "session_not_found",
      status: 404,
      message: "There is none.",
      requestId: "r-7",
      retryAfter: null,
    });
  });

  it.each([
    ["is not JSON", "<html>Bad Gateway</html>"],
    ["is JSON but not an object", "null"],
    ["is empty", ""],
  ])("has only the status if it comes from a proxy whose body %s", async (_name, body) => {
    answers = [(_message, response) => response.writeHead(502).end(body)];
    expect(
      await client({ retries: 0 })
        .listModels()
        .catch((error: unknown) => error),
    ).toMatchObject({
      code: "http_error",
      status: 502,
      requestId: null,
    });
  });

  it("has only the status if its body is cut off, and a session then polls", async () => {
    answers = [brokenOff];
    const failed = await outcome(client({ retries: 0 }).listModels());
    expect(failed).toMatchObject({ name: "ColloquyError", code: "http_error", status: 503 });
    const stream: Answer = (message, response) =>
      (message.url?.startsWith("/api/updates") ? brokenOff : json(snapshot({})))(message, response);
    answers = [stream];
    const session = client().session(SESSION);
    const leave = session.subscribe(() => undefined);
    await until(() => ["polling", "failed"].includes(session.getConnection().state), 50);
    expect(session.getConnection()).toMatchObject({ state: "polling", error: { code: "http_error" } });
    leave();
    session.stop();
  });

  it("is thrown for a 200 that is not from the service", async () => {
    answers = [(_message, response) => response.end("<html>Log in</html>")];
    expect(
      await client({ retries: 0 })
        .listModels()
        .catch((error: unknown) => error),
    ).toMatchObject({ code: "answer_invalid" });
  });

  it("has the cause if the service is unreachable", async () => {
    answers = [reset];
    expect(
      await client({ retries: 0 })
        .listModels()
        .catch((error: unknown) => error),
    ).toMatchObject({
      code: "network_failed",
      status: 0,
      cause: expect.any(Error),
    });
  });

  it("is thrown after 30 seconds without an answer, and leaves no timer", async () => {
    answers = [silent];
    const asking = client()
      .deleteThread(SESSION)
      .catch((error: unknown) => error);
    await until(() => seen.length === 1);
    await clock.advance(29_999);
    expect(clock.timers).toBe(1);
    await clock.advance(1);
    expect(await asking).toMatchObject({ code: "timeout", status: 0 });
    expect(clock.timers).toBe(0);
  });
});

describe("a message", () => {
  const said = snapshot({
    messages: [message("m1", "user", "Hi")],
    is_processing: true,
    status: "processing",
  });

  it.each([
    ["the network fails", [reset, reset]],
    ["nobody knows whether it was stored", [inDoubt("outcome_unknown"), inDoubt("stored_not_shown")]],
    ["nothing is answered in time", [silent, silent]],
    ["a proxy has no service behind it", [json({}, 502), json({}, 504)]],
    ["the service is not ready", [unavailable("1"), unavailable()]],
    ["an error breaks off in its body", [brokenOff, brokenOff]],
  ])("is retried under the same key when %s", async (_name, failures) => {
    answers = [...failures, json(said)];
    expect(await outcome(client().sendMessage(SESSION, "Hi"))).toEqual(said);
    expect(seen).toHaveLength(3);
    const keys = new Set(seen.map(({ headers }) => headers["idempotency-key"]));
    expect([...keys]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(new Set(seen.map(({ body }) => body))).toEqual(new Set(['{"message":"Hi"}']));
    expect(clock.timers).toBe(0);
  });

  it("is retried up to the limit, after growing random pauses", async () => {
    answers = [reset];
    const sending = client({ retries: 3 }, 1)
      .sendMessage(SESSION, "Hi")
      .catch((error: unknown) => error);
    for (const [index, ms] of [500, 1_000, 2_000].entries()) {
      await until(() => clock.nextIn === ms);
      expect(seen).toHaveLength(index + 1);
      await clock.advance(ms);
    }
    expect(await sending).toMatchObject({ code: "network_failed" });
    expect(seen).toHaveLength(4);
  });

  it("is retried after the time in Retry-After, unless that is too long", async () => {
    answers = [unavailable("7"), json(said)];
    const sending = client({}, 0).sendMessage(SESSION, "Hi");
    await until(() => clock.nextIn === 7_000);
    await clock.advance(6_999);
    expect(seen).toHaveLength(1);
    await clock.advance(1);
    expect(await sending).toEqual(said);
    answers = [unavailable("120")];
    expect(
      await client()
        .sendMessage(SESSION, "Hi")
        .catch((error: unknown) => error),
    ).toMatchObject({ status: 503, retryAfter: 120 });
  });

  it.each([400, 401, 403, 404, 409, 413, 429])("is not retried after status %i", async (status) => {
    answers = [json({ code: "no", detail: "No." }, status, { "retry-after": "1" }), json(said)];
    expect(await outcome(client().sendMessage(SESSION, "Hi"))).toMatchObject({
      status,
      code: "no",
      retryAfter: 1,
    });
    expect(seen).toHaveLength(1);
  });

  it("carries the client's App, its key and all options", async () => {
    answers = [json(said)];
    const to = client({ app: "defi", key: "clq_1_2", headers: { "X-Team": "tea" } });
    const options = {
      idempotencyKey: "mine",
      publicKey: "0xab",
      userState: { a: 1 },
      clientId: "me",
      replaces: "m1",
      rig: "demo/assistant",
      responseSchema: { type: "object" },
    };
    await to.sendMessage(SESSION, "Hi", options);
    expect(seen[0]).toMatchObject({
      method: "POST",
      url: "/api/chat",
      headers: {
        "x-session-id": SESSION,
        "service-app-key": "clq_1_2",
        "x-team": "tea",
        "idempotency-key": "mine",
        "content-type": "application/json",
      },
    });
    expect(JSON.parse(seen[0]!.body)).toEqual({
      message: "Hi",
      app: "defi",
      public_key: "0xab",
      user_state: { a: 1 },
      client_id: "me",
      replaces: "m1",
      rig: "demo/assistant",
      response_schema: { type: "object" },
    });
    expect(seen[0]!.headers).not.toHaveProperty("prefer");
  });

  it("polls until the assistant has finished if asked to wait", async () => {
    const done = snapshot({ messages: [message("m1", "user", "Hi"), message("m2", "agent", "Hello")] });
    answers = [json(said), json(said), json(done)];
    expect(await client().sendMessage(SESSION, "Hi", { wait: true })).toEqual(done);
    expect(seen.map(({ method, url, headers }) => [method, url, headers["prefer"]])).toEqual([
      ["POST", "/api/chat", "wait=20"],
      ["GET", "/api/state", "wait=1"],
      ["GET", "/api/state", "wait=2"],
    ]);
  });

  it("polls for the requested time", async () => {
    answers = [json(said)];
    expect(await client().sendMessage(SESSION, "Hi", { wait: 45 })).toEqual(said);
    expect(seen.map(({ headers }) => headers["prefer"])).toEqual(
      [20, 1, 2, 4, 8, 10].map((seconds) => `wait=${seconds}`),
    );
  });

  it("polls until a decision is needed", async () => {
    const asked = { ...said, pending_actions: [{ id: "a" }] };
    answers = [json(said), json(asked)];
    expect(await client().sendMessage(SESSION, "Hi", { wait: true })).toEqual(asked);
    expect(seen).toHaveLength(2);
  });
});

describe("an upload", () => {
  it("works without XMLHttpRequest, and then reports no progress", async () => {
    const stored = { id: "f1", media_type: "text/plain", bytes: 3, sha256: "00", name: "tea.txt" };
    answers = [unavailable("1"), json(stored)];
    const progress: unknown[] = [];
    const file = new File(["tea"], "tea.txt", { type: "text/plain" });
    const options = { onProgress: (sent: unknown) => void progress.push(sent) };
    expect(await outcome(client().uploadFile(SESSION, file, options))).toEqual(stored);
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ["POST", "tea"],
      ["POST", "tea"],
    ]);
    expect(progress).toEqual([]);
  });

  it("gives a fetch of the application what `fetchWithProgress` needs", async () => {
    const inits: UploadInit[] = [];
    const stored = { id: "f1", sha256: "00" };
    const send = async (_input: unknown, init: UploadInit = {}): Promise<Response> => {
      inits.push(init);
      return Response.json(stored);
    };
    const onProgress = (): void => undefined;
    const file = new Blob(["tea"]);
    expect(await client({ fetch: send }).uploadFile(SESSION, file, { onProgress })).toEqual(stored);
    expect(inits).toMatchObject([{ method: "POST", body: file, onProgress }]);
  });
});

describe("a response of a proxy or captive portal", () => {
  const page: Answer = (_message, response) => response.writeHead(404).end("default backend - 404");
  const empty =
    (status: number): Answer =>
    (_message, response) =>
      response.writeHead(status).end();
  const threads = json([{ session_id: SESSION, title: "Tea", updated_at: "2026-01-01T00:00:00.000Z" }]);

  it.each([
    ["a proxy's 404", page],
    ["a firewall's 403", json({ message: "Forbidden" }, 403)],
    ["a gateway's numeric code", json({ code: 401, message: "no Route matched" }, 401)],
    ["a portal's 204", empty(204)],
    ["a 304 to an unconditional request", empty(304)],
    ["a portal's page", (_message, response) => response.writeHead(200).end("<html>Log in</html>")],
    ["JSON of another program", json({ error: "log in" })],
    ["a JSON text", json("log in")],
  ] satisfies [string, Answer][])("is retried: %s", async (_name, foreign) => {
    answers = [foreign, foreign, threads];
    expect(await outcome(client().listThreads("0xab"))).toMatchObject({ threads: [{ title: "Tea" }] });
    expect(seen).toHaveLength(3);
  });

  it("is reported after all retries", async () => {
    answers = [page];
    expect(await outcome(client().listModels())).toMatchObject({ code: "http_error", status: 404 });
    answers = [empty(204)];
    expect(await outcome(client().listThreads("0xab"))).toMatchObject({ code: "answer_invalid" });
    expect(await outcome(client().getState(SESSION))).toMatchObject({ code: "answer_invalid" });
  });

  it("does not count as a successful deletion", async () => {
    for (const foreign of [empty(304), page, json("ok"), empty(200)]) {
      answers = [foreign];
      expect(await outcome<unknown>(client().deleteThread(SESSION))).toBeInstanceOf(ColloquyError);
    }
    answers = [empty(204)];
    expect(await outcome<unknown>(client().deleteThread(SESSION))).toBeUndefined();
    expect(await outcome<unknown>(client().revokeToken())).toBeUndefined();
  });

  it("is not retried if a proxy finds the body too large", async () => {
    answers = [(_message, response) => response.writeHead(413).end("<html>Too Large</html>")];
    expect(await outcome(client().sendMessage(SESSION, "Hi"))).toMatchObject({
      code: "http_error",
      status: 413,
    });
    expect(seen).toHaveLength(1);
  });
});

describe("a request without a network", () => {
  afterEach(() => void (isOffline = false));

  it("waits for the network and is repeated immediately when it is back", async () => {
    answers = [reset];
    isOffline = true;
    const sending = client({ retries: 2 }, 1).sendMessage(SESSION, "Hi");
    await until(() => seen.length > 5, 1_000);
    // From here on no time passes, and the pause between two tries lasts.
    await until(() => wakers.size > 0);
    const tries = seen.length;
    answers = [json(snapshot({}))];
    isOffline = false;
    for (const wake of wakers) wake();
    expect(await sending).toMatchObject({ messages: [] });
    expect(seen).toHaveLength(tries + 1);
    expect([wakers.size, clock.timers]).toEqual([0, 0]);
  });
});

describe("a read without a network", () => {
  afterEach(() => void (isOffline = false));

  it("fails after all retries", async () => {
    answers = [reset];
    isOffline = true;
    expect(await outcome(client({ retries: 2 }).getState(SESSION))).toMatchObject({ code: "network_failed" });
    expect(seen).toHaveLength(3);
  });
});

describe("a mistake of the caller", () => {
  it.each<[string, (to: Client) => Promise<unknown>]>([
    [
      "a value without JSON",
      (to) => to.sendMessage(SESSION, "Hi", { userState: { big: 1n as unknown as number } }),
    ],
    ["a header that cannot be sent", (to) => to.getState("naïve 🫖")],
  ])("is thrown as it is, and is no network failure: %s", async (_name, ask) => {
    answers = [json(snapshot({}))];
    const error = await outcome(ask(client()));
    expect(error).toBeInstanceOf(TypeError);
    expect(seen).toEqual([]);
  });
});

describe("an aborted request", () => {
  it("throws the signal's reason, in flight and between two tries, and leaves no timer", async () => {
    for (const answer of [silent, reset]) {
      answers = [answer];
      const abort = new AbortController();
      const before = seen.length;
      const asking = client()
        .listModels({ signal: abort.signal })
        .catch((error: unknown) => error);
      await until(() => seen.length > before);
      await new Promise((resolve) => setTimeout(resolve, 5));
      abort.abort(new Error("Enough"));
      expect(await asking).toEqual(new Error("Enough"));
      expect(clock.timers).toBe(0);
    }
  });

  it("throws the signal's reason while the body of an error is read", async () => {
    const begun: Answer = (_message, response) => response.writeHead(503).write("{");
    answers = [begun];
    const { port } = server.address() as AddressInfo;
    const timing = { after: clock.after.bind(clock), random: () => 0, onWake: () => () => undefined };
    const abort = new AbortController();
    let isAnswered = false;
    const own: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      isAnswered = true;
      return response;
    };
    const baseUrl = `http://127.0.0.1:${port}`;
    const transport = transportOf({ baseUrl, fetch: own, timing, retries: 0 }, {});
    const opening = transport.open({ path: "/x", signal: abort.signal }).catch((error: unknown) => error);
    await until(() => isAnswered);
    abort.abort(new Error("Enough"));
    expect(await opening).toEqual(new Error("Enough"));
  });

  it("is not sent if the signal was already aborted", async () => {
    await expect(client().listModels({ signal: AbortSignal.abort(new Error("Enough")) })).rejects.toThrow(
      "Enough",
    );
    expect(seen).toEqual([]);
  });
});

it.each([
  ["interrupt", (to: Client) => to.interrupt(SESSION)],
  ["deleteThread", (to: Client) => to.deleteThread(SESSION)],
  ["removeSecrets", (to: Client) => to.removeSecrets({ clientId: "me" })],
])("does not retry %s, because a late retry may do harm", async (_name, ask) => {
  answers = [reset, json({})];
  expect(await outcome<unknown>(ask(client()))).toMatchObject({ code: "network_failed" });
  expect(seen).toHaveLength(1);
});

it("returns the cursor of the next page of threads", async () => {
  const link = '<?public_key=0xab&limit=2&cursor=a%2Bb%3D>; rel="next"';
  answers = [json([], 200, { link }), json([])];
  expect(await client().listThreads("0xab", { limit: 2 })).toEqual({ threads: [], next: "a+b=" });
  expect(await client().listThreads("0xab", { limit: 2, cursor: "a+b=" })).toEqual({
    threads: [],
    next: null,
  });
  expect(seen.map(({ url }) => url)).toEqual([
    "/api/sessions?public_key=0xab&limit=2",
    "/api/sessions?public_key=0xab&limit=2&cursor=a%2Bb%3D",
  ]);
});

it("calls the given `fetch` without `this`, as browsers require of their own", async () => {
  answers = [json(snapshot({}))];
  const strict = function (this: unknown, ...given: Parameters<typeof fetch>): Promise<Response> {
    if (this !== undefined) return Promise.reject(new TypeError("Illegal invocation"));
    return fetch(...given);
  };
  await expect(client({ fetch: strict }).getState(SESSION)).resolves.toMatchObject({ session_id: SESSION });
});

it.each([
  [
    "a TypeError thrown at once",
    () => {
      throw new TypeError("x is not a function");
    },
  ],
  ["a ReferenceError", () => Promise.reject(new ReferenceError("x is not defined"))],
])("reports %s by the given `fetch` as a mistake, not as a network failure", async (_what, given) => {
  await expect(client({ fetch: given }).getState(SESSION)).rejects.toThrow(/^x is not/);
});

it("reports a runtime without `fetch` as a mistake, not as a network failure", async () => {
  vi.stubGlobal("fetch", undefined);
  try {
    await expect(createClient({ baseUrl: "http://127.0.0.1:1" }).listModels()).rejects.toThrow(
      "has no `fetch`",
    );
  } finally {
    vi.unstubAllGlobals();
  }
});

it("waits for a first byte that takes 20 seconds, and sends the message once", async () => {
  let respond = (): void => undefined;
  answers = [(_message, response) => void (respond = () => json(snapshot({}))(_message, response))];
  const sending = client().sendMessage(SESSION, "Hi");
  await until(() => seen.length === 1);
  await clock.advance(20_000);
  respond();
  expect(await sending).toMatchObject({ session_id: SESSION });
  expect(seen).toHaveLength(1);
});
