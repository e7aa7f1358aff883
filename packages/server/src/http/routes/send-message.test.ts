import { randomUUID } from "node:crypto";
import type { Snapshot } from "@colloquy/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { expectProblem } from "../testing/expect-problem.ts";
import { startEdges, WALLET } from "../testing/edge.ts";

const edges = await startEdges();
afterEach(() => vi.restoreAllMocks());

/** Returns a function that returns the last chat that the service got. */
function watchChats() {
  const chat = vi.spyOn(edges.service.conversations, "chat");
  return () => chat.mock.lastCall?.[0];
}

describe("POST /api/chat", () => {
  it("returns the snapshot", async () => {
    const edge = edges.testEdge();
    const answer = await edge.send("POST", "/api/chat?message=hello+w%C3%B6rld");
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(answer.body)),
      "cache-control": "no-store",
    });
    expect(answer.headers["x-request-id"]).toBeDefined();
    expect(answer.json()).toMatchObject({
      session_id: edge.session,
      messages: [{ sender: "user", content: "hello wörld" }],
    });
  });

  const userState = { connection: { is_connected: true }, evm: { address: WALLET, chain_id: 1 } };
  const expected = {
    app: "default",
    message: "hi",
    publicKey: WALLET,
    userState,
    clientId: "web-7",
    idempotencyKey: null,
    waitMs: 0,
  };

  const unreadable = { response_schema: 5, client_tools: { "a b": { inputSchema: "none" } } };

  it("checks access and limits first, whatever the options with schemas are", async () => {
    const edge = edges.testEdge({ loopback: false, rateLimits: { chatsPerMinute: 1 } });
    const post = (more: object) =>
      edge.send("POST", "/api/chat", { payload: { message: "hi", ...unreadable, ...more } });
    expectProblem(await post({ app: "other" }), 401, "app_key_invalid");
    expect((await post({})).statusCode).toBe(400);
    expectProblem(await post({}), 429, "rate_limited");
  });

  it("ignores a schema in the query", async () => {
    const query = new URLSearchParams({ message: "hi", response_schema: "nonsense" });
    const answer = await edges.testEdge().send("POST", `/api/chat?${query.toString()}`);
    expect(answer.statusCode).toBe(200);
  });

  it("reads its parameters from the query", async () => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    const query = new URLSearchParams({
      message: "hi",
      app: "default",
      public_key: WALLET,
      user_state: JSON.stringify(userState),
      client_id: "web-7",
      unknown: "ignored",
    });
    await edge.send("POST", `/api/chat?${query.toString()}`);
    expect(lastChat()).toMatchObject(expected);
  });

  it.each([userState, JSON.stringify(userState)])(
    "reads its parameters from a JSON body, user state as %j",
    async (state) => {
      const lastChat = watchChats();
      const edge = edges.testEdge();
      const payload = {
        message: "hi",
        app: "default",
        public_key: WALLET,
        user_state: state,
        client_id: "web-7",
        unknown: "ignored",
      };
      expect((await edge.send("POST", "/api/chat", { payload })).statusCode).toBe(200);
      expect(lastChat()).toMatchObject(expected);
    },
  );

  it("combines parameters of query and body, but allows none in both", async () => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    const url = `/api/chat?public_key=${WALLET}&client_id=web-7`;
    await edge.send("POST", url, { payload: { message: "hi", client_id: null } });
    expect(lastChat()).toMatchObject({
      message: "hi",
      publicKey: WALLET,
      clientId: "web-7",
      userState: null,
    });
    const twice = await edge.send("POST", "/api/chat?message=hi", { payload: { message: "hi" } });
    expect(expectProblem(twice, 400, "parameter_repeated")).toContain('"message"');
  });

  it("accepts every key of user state, including __proto__", async () => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    const payload = '{"message":"hi","user_state":{"__proto__":{"a":1},"x":[null]}}';
    await edge.send("POST", "/api/chat", { headers: { "content-type": "application/json" }, payload });
    const kept = lastChat()?.userState ?? {};
    expect(JSON.stringify(kept)).toBe('{"__proto__":{"a":1},"x":[null]}');
  });

  it.each([
    ["", "parameter_missing"],
    ["message=", "message_blank"],
    ["message=%20%0A%09", "message_blank"],
    ["message=a&message=b", "parameter_repeated"],
    ["message=%ED%A0%80", "url_encoding_invalid"],
    ["message=a%00b", "text_invalid"],
    ["message=hi&user_state=%7B", "parameter_invalid"],
    ["message=hi&user_state=[]", "parameter_invalid"],
    ["message=hi&user_state=nul", "parameter_invalid"],
    ["message=hi&user_state=7", "parameter_invalid"],
    [`message=hi&user_state=${"[".repeat(20_000)}`, "parameter_invalid"],
    ["message=hi&user_state=%7B%22a%22%3A%22%5Cu0000%22%7D", "parameter_invalid"],
    ["message=hi&public_key=%20", "parameter_invalid"],
    ["message=hi&client_id=%0A", "parameter_invalid"],
    [`message=hi&client_id=${"c".repeat(129)}`, "parameter_invalid"],
    ["message=hi&client_id=a%0Ab", "parameter_invalid"],
    ["message=hi&app=default&app=default", "parameter_repeated"],
  ])("rejects ?%s", async (query, code) => {
    const edge = edges.testEdge();
    expectProblem(await edge.send("POST", `/api/chat?${query}`), 400, code);
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it.each([
    ["{}", "parameter_missing"],
    ['{"message":null}', "parameter_missing"],
    ['{"message":7}', "parameter_invalid"],
    ['{"message":["hi"]}', "parameter_invalid"],
    ['{"message":" "}', "message_blank"],
    ['{"message":"hi","user_state":7}', "parameter_invalid"],
    ['{"message":"hi","user_state":[]}', "parameter_invalid"],
    ['{"message":"hi","user_state":"[]"}', "parameter_invalid"],
    ['{"message":"hi","public_key":" "}', "parameter_invalid"],
    ['{"message":"hi","client_id":7}', "parameter_invalid"],
    [String.raw`{"message":"\ud800"}`, "text_invalid"],
    [String.raw`{"message":"a\u0000"}`, "text_invalid"],
    ["[]", "body_invalid"],
    ["nonsense", "json_invalid"],
  ])("rejects the body %s", async (payload, code) => {
    const edge = edges.testEdge();
    const headers = { "content-type": "application/json" };
    expectProblem(await edge.send("POST", "/api/chat", { headers, payload }), 400, code);
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it.each(["query", "body"])("passes on an unchanged message from the %s", async (where) => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    const message = "  indented\n\tcode \u00a0\n";
    const query = `?${new URLSearchParams({ message }).toString()}`;
    await edge.send("POST", `/api/chat${where === "query" ? query : ""}`, {
      ...(where === "body" && { payload: { message } }),
    });
    expect(lastChat()?.message).toBe(message);
  });

  it.each([
    ["the query", "&app=&public_key=&user_state=&client_id=", {}],
    ["the query as null", "&user_state=null", {}],
    ["the body as null", "", { user_state: null }],
    ["the body as the text null", "", { user_state: "null" }],
    ["the body", "", { app: "", public_key: "", user_state: "", client_id: "" }],
  ])("treats empty parameters in %s and an empty key as absent", async (_name, query, payload) => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    const headers = { "service-app-key": "" };
    const answer = await edge.send("POST", `/api/chat?message=hi${query}`, { headers, payload });
    expect(answer.statusCode).toBe(200);
    expect(lastChat()).toMatchObject({
      app: "default",
      publicKey: null,
      userState: null,
      clientId: null,
    });
  });

  const NOT_BOOLEAN = 'must have at "connection.is_connected" a boolean or null';
  it.each([
    [{ connection: { is_connected: "yes" } }, NOT_BOOLEAN],
    [{ connection: { is_connected: 1 } }, NOT_BOOLEAN],
    [{ connection: true }, 'must have at "connection" an object or null'],
    [{ connection: [] }, 'must have at "connection" an object or null'],
    [{ evm: "0x1" }, 'must have at "evm" an object or null'],
    [{ evm: { address: 7 } }, 'must have at "evm.address" a string or null'],
    [{ evm: { chain_id: true } }, 'must have at "evm.chain_id" a number, a string or null'],
    [{ evm: { chain_id: {} } }, 'must have at "evm.chain_id" a number, a string or null'],
  ])("rejects the user state %j and names the path", async (state, sentence) => {
    const edge = edges.testEdge();
    const text = JSON.stringify(state);
    const inQuery = `message=hi&user_state=${encodeURIComponent(text)}`;
    for (const answer of [
      await edge.send("POST", `/api/chat?${inQuery}`),
      await edge.send("POST", "/api/chat", { payload: { message: "hi", user_state: state } }),
      await edge.send("POST", "/api/chat", { payload: { message: "hi", user_state: text } }),
      await edge.send("GET", `/api/state?user_state=${encodeURIComponent(text)}`),
    ]) {
      expect(expectProblem(answer, 400, "parameter_invalid")).toContain(sentence);
    }
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it.each([
    { connection: null, evm: null },
    { connection: {}, evm: {} },
    { connection: { is_connected: null, since: 7 }, evm: { address: null, chain_id: null, more: [] } },
    { evm: { chain_id: "0x1" }, solana: { address: 7 } },
    { evm: { chain_id: 1.5 }, note: "connected" },
  ])("accepts the user state %j with its unknown keys", async (state) => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    const payload = { message: "hi", user_state: state };
    expect((await edge.send("POST", "/api/chat", { payload })).statusCode).toBe(200);
    expect(lastChat()?.userState).toEqual(state);
  });

  it("accepts 32,768 characters, and rejects one more with 413", async () => {
    const edge = edges.testEdge();
    const longest = ` ${"x".repeat(32_766)} `;
    expect((await edge.send("POST", "/api/chat", { payload: { message: longest } })).statusCode).toBe(200);
    const payload = { message: "😀".repeat(16_384) };
    expect((await edge.send("POST", "/api/chat", { payload })).statusCode).toBe(200);
    const beyond = await edge.send("POST", "/api/chat", { payload: { message: `${longest} ` } });
    expectProblem(beyond, 413, "message_too_long");
    const query = await edge.send("POST", `/api/chat?message=${"x".repeat(32_769)}`);
    expectProblem(query, 413, "message_too_long");
  });

  it("passes on an Idempotency-Key of 1 to 255 printable characters, and rejects others", async () => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    await edge.send("POST", "/api/chat?message=hi", { headers: { "idempotency-key": "a, b" } });
    expect(lastChat()?.idempotencyKey).toBe("a, b");
    for (const key of ["", "k".repeat(256), "schlüssel"]) {
      const answer = await edge.send("POST", "/api/chat?message=hi", { headers: { "idempotency-key": key } });
      expectProblem(answer, 400, "idempotency_key_invalid");
    }
  });

  it("passes on the maximum wait time, and confirms it in Preference-Applied", async () => {
    const lastChat = watchChats();
    const edge = edges.testEdge();
    const answer = await edge.send("POST", "/api/chat?message=hi", { headers: { prefer: "wait=7" } });
    expect(lastChat()?.waitMs).toBe(7000);
    expect(answer.headers["preference-applied"]).toBe("wait=7");
  });

  it("limits chats to 60 a minute per address beyond a loopback bind", async () => {
    const edge = edges.testEdge({ loopback: false });
    const chat = (remoteAddress: string) =>
      edge.send("POST", "/api/chat?message=hi", { remoteAddress, headers: { "x-session-id": randomUUID() } });
    for (let index = 0; index < 60; index += 1) expect((await chat("2001:db8::1")).statusCode).toBe(200);
    await edges.pass(1500);
    const refused = await chat("2001:db8::2");
    expectProblem(refused, 429, "rate_limited");
    expect(refused.headers["retry-after"]).toBe("59");
    expect((await chat("2001:db8:1::1")).statusCode).toBe(200);
  });

  it("accepts repeats of a chat beyond the rate limit, up to a limit of their own", async () => {
    const rateLimits = { chatsPerMinute: 2, newSessionsPerMinute: 9, streamsPerAddress: 9 };
    const edge = edges.testEdge({ loopback: false, rateLimits });
    const chat = (message: string, key: string) =>
      edge.send("POST", `/api/chat?message=${message}`, { headers: { "idempotency-key": key } });
    expect((await chat("one", "a")).statusCode).toBe(200);
    expect((await chat("two", "b")).statusCode).toBe(200);
    expectProblem(await chat("three", "c"), 429, "rate_limited");
    const repeated = (await chat("two", "b")).json<Snapshot>();
    expect(repeated.messages.filter(({ sender }) => sender === "user")).toHaveLength(2);
    // Repeats have their own budget, so that guessed keys do not query the store without limit.
    vi.spyOn(edges.service.conversations, "isRepeat").mockRejectedValue(new Error("The store was asked"));
    expectProblem(await chat("two", "b"), 429, "rate_limited");
    expectProblem(await edge.send("POST", "/api/chat?message=two"), 429, "rate_limited");
  });

  it("gives 503 and closes the connection while the only process stops", async () => {
    const edge = edges.testEdge();
    edge.stop();
    const answer = await edge.send("POST", "/api/chat?message=hi");
    expectProblem(answer, 503, "stopping");
    expect(answer.headers).toMatchObject({ connection: "close", "retry-after": "5" });
    expect(await edges.exists(edge.session)).toBe(false);
    expect((await edge.send("GET", "/api/state")).headers["connection"]).toBe("close");
  });

  it("accepts a chat and closes the connection while one of several processes stops", async () => {
    const edge = edges.testEdge({}, { hasOtherNodes: true });
    edge.stop();
    const answer = await edge.send("POST", "/api/chat?message=hi");
    expect([answer.statusCode, answer.headers["connection"]]).toEqual([200, "close"]);
  });
});
