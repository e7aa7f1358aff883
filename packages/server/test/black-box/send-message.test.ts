import { describe, expect, it } from "vitest";
import {
  chat,
  expectProblem,
  expectSnapshot,
  newSession,
  newWallet,
  send,
  whenIdle,
  state,
  thread,
} from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { useService } from "./server.ts";

const url = useService();

function post(session: string, query: Record<string, string>, json?: unknown, headers = {}) {
  const path = `/api/chat?${new URLSearchParams(query).toString()}`;
  return send(url(), "POST", path, { session, headers, ...(json !== undefined && { json }) });
}

async function expectUnknown(session: string): Promise<void> {
  expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
}

describe("POST /api/chat", () => {
  it("creates the session, returns at once, and the assistant answers", async () => {
    const session = newSession();
    const accepted = await chat(url(), session, "hello");
    expect(accepted.is_processing).toBe(true);
    expect(accepted.messages[0]).toMatchObject({ sender: "user", content: "hello" });
    const done = await whenIdle(url(), session);
    expect(done).toMatchObject({ is_processing: false, status: "idle" });
    expect(done.messages.map(({ sender, status }) => [sender, status])).toEqual([
      ["user", "complete"],
      ["agent", "complete"],
    ]);
    expect(done.messages[1]?.content).toContain("demo");
  });

  it("never answers with a token stream, and shows growing text to pollers", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    const numbers = Array.from({ length: 500 }, (_, index) => index + 1).join(" ");
    const seen = new Set<string>();
    while (seen.size <= 5) {
      const { messages, is_processing } = await state(url(), session);
      const text = messages[1]?.content ?? "";
      expect([is_processing, numbers.startsWith(text.replaceAll("\n\n", " "))]).toEqual([true, true]);
      seen.add(text);
    }
    await send(url(), "POST", "/api/interrupt", { session });
  });

  it("runs tools and shows each call with its result", async () => {
    const session = newSession();
    await chat(url(), session, "what is 12 * 7?");
    const message = (await whenIdle(url(), session)).messages[1];
    expect(message?.content).toContain("84");
    expect(message?.tool_calls).toMatchObject([{ name: "calculator", status: "complete" }]);
    expect(message?.tool_results).toMatchObject([
      { call_id: message?.tool_calls?.[0]?.id, name: "calculator", is_error: false },
    ]);
  });

  it("remembers earlier messages", async () => {
    const session = newSession();
    await chat(url(), session, "my cat is called Mimi");
    await whenIdle(url(), session);
    await chat(url(), session, "what did I say first?");
    expect((await whenIdle(url(), session)).messages[3]?.content).toContain("my cat is called Mimi");
  });

  it("generates a title and announces it on the stream", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session);
    await chat(url(), session, "what is 12 * 7?");
    const { event } = await reader.find(({ type }) => type === "title_changed");
    reader.leave();
    expect(event).toMatchObject({ new_title: expect.stringMatching(/\S/) });
    expect((await thread(url(), session)).title).toBe("new_title" in event ? event.new_title : null);
    expect((await thread(url(), session)).title).not.toBe("New Chat");
  });

  it("takes its parameters from a JSON body too", async () => {
    const session = newSession();
    const wallet = newWallet();
    const json = {
      message: "hello",
      app: "default",
      public_key: wallet,
      user_state: { a: 1 },
      client_id: "c",
    };
    const snapshot = expectSnapshot(await send(url(), "POST", "/api/chat", { session, json }), session);
    expect(snapshot.messages[0]?.content).toBe("hello");
    expect(snapshot.user_state).toEqual({ a: 1 });
    const list = await send(url(), "GET", `/api/sessions?public_key=${wallet}`, { session });
    expect(list.json()).toMatchObject([{ session_id: session }]);
  });

  it("accepts a message of 32,768 characters in the body and stores it unchanged; one more gives 413", async () => {
    const session = newSession();
    const longest = `  ${"x".repeat(32_765)}\n`;
    const accepted = expectSnapshot(await post(session, {}, { message: longest }), session);
    expect(accepted.messages[0]?.content).toBe(longest);
    expectProblem(await post(newSession(), {}, { message: `${longest}x` }), 413);
    expectProblem(await post(newSession(), { message: `${longest}x` }), 413);
  });

  it("accepts a message of 32,768 characters of any script in the query", async () => {
    for (const character of ["x", "я", "語", "\u{1F600}"]) {
      const session = newSession();
      const message = character.repeat(32_768 / character.length);
      const accepted = expectSnapshot(await post(session, { message }), session);
      expect(accepted.messages[0]?.content).toBe(message);
    }
  });

  it("stores text of every script unchanged", async () => {
    const session = newSession();
    const message = "שלום 你好 🇨🇭 e\u0301 \u202e\n\ttab “quotes” \\ / \u{10FFFF}";
    await chat(url(), session, message);
    expect((await state(url(), session)).messages[0]?.content).toBe(message);
  });

  it.each([
    ["no message", {}],
    ["an empty message", { message: "" }],
    ["a blank message", { message: " \n\u3000" }],
    ["user state that is no JSON", { message: "hi", user_state: "{" }],
    ["user state that is no object", { message: "hi", user_state: "[]" }],
    [
      "user state that nests too deep",
      { message: "hi", user_state: `${'{"a":'.repeat(40)}1${"}".repeat(40)}` },
    ],
    ["user state beyond depth 16", { message: "hi", user_state: `${'{"a":'.repeat(17)}1${"}".repeat(17)}` }],
    ["user state beyond 8 KiB", { message: "hi", user_state: JSON.stringify({ a: "x".repeat(8200) }) }],
    ["user state of a wrong type", { message: "hi", user_state: '{"evm":{"chain_id":true}}' }],
    ["a wallet with a space", { message: "hi", public_key: "a b" }],
  ])("rejects %s with 400, and creates nothing", async (_name, query) => {
    const session = newSession();
    expectProblem(await post(session, query), 400);
    await expectUnknown(session);
  });

  it("rejects a repeated parameter with 400, in the query or in query and body", async () => {
    const session = newSession();
    expectProblem(await send(url(), "POST", "/api/chat?message=a&message=a", { session }), 400);
    expectProblem(await post(session, { message: "a" }, { message: "a" }), 400);
    await expectUnknown(session);
  });

  it.each([{}, { "SERVICE-APP-KEY": "clq_x_y" }])(
    "answers 401 for any App but default, with the headers %j, before anything else",
    async (headers) => {
      const session = newSession();
      const answer = await post(session, { app: "other" }, undefined, headers);
      expectProblem(answer, 401);
      expect(answer.headers["www-authenticate"]).toBeDefined();
      await expectUnknown(session);
    },
  );

  it("ignores a key for the default App", async () => {
    const headers = { "SERVICE-APP-KEY": "clq_x_y" };
    const session = newSession();
    expectSnapshot(await post(session, { message: "hi", app: "default" }, undefined, headers), session);
  });

  it("merges user state: objects deeply, other values replaced, null too", async () => {
    const session = newSession();
    const send = (user_state: object) =>
      post(session, { message: "hi", user_state: JSON.stringify(user_state) });
    await send({ connection: { is_connected: true }, evm: { address: "0x1", chain_id: 1 }, extra: [1] });
    await send({ evm: { chain_id: "137", address: null }, extra: [2] });
    expect((await state(url(), session)).user_state).toEqual({
      connection: { is_connected: true },
      evm: { address: null, chain_id: "137" },
      extra: [2],
    });
  });

  it("keeps the first wallet when another one is named, with a notice", async () => {
    const session = newSession();
    const [first, second] = [newWallet(), newWallet()];
    await post(session, { message: "hi", public_key: first });
    expectSnapshot(await post(session, { message: "hi", public_key: second }), session);
    const { system_events } = await whenIdle(url(), session);
    expect(system_events.map(({ type }) => type)).toContain("notice");
    const list = (wallet: string) => send(url(), "GET", `/api/sessions?public_key=${wallet}`, { session });
    expect((await list(first)).json()).toHaveLength(1);
    expect((await list(second)).json()).toEqual([]);
  });
});

describe("a chat while the session is processing", () => {
  it("queues: messages keep their order, and each is answered in turn", async () => {
    const session = newSession();
    await chat(url(), session, "count to 60");
    await chat(url(), session, "what is 2 + 2?");
    const third = await chat(url(), session, "what is 3 + 3?");
    // The snapshot leaves out the answer until its first text has reached this node.
    const questions = third.messages.filter(({ sender }) => sender === "user");
    expect(questions.map(({ status }) => status)).toEqual(["complete", "queued", "queued"]);
    const done = await whenIdle(url(), session);
    expect(done.messages.map(({ sender, content }) => `${sender}: ${content.slice(0, 14)}`)).toEqual([
      "user: count to 60",
      "agent: 1 2 3 4 5 6 7 ",
      "user: what is 2 + 2?",
      "user: what is 3 + 3?",
      expect.stringContaining("agent: "),
      expect.stringContaining("agent: "),
    ]);
    expect(done.messages[4]?.content).toContain("4");
    expect(done.messages[5]?.content).toContain("6");
    expect(done.messages.every(({ status }) => status === "complete")).toBe(true);
  });

  it("allows ten queued messages, and rejects the next with 429 and Retry-After", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    for (let waiting = 0; waiting < 10; waiting += 1) await chat(url(), session, "hello");
    const refused = await post(session, { message: "hello" });
    expectProblem(refused, 429);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    const left = expectSnapshot(await send(url(), "POST", "/api/interrupt", { session }), session);
    expect(left.messages).toHaveLength(12);
  });
});

describe("Prefer: wait", () => {
  it("answers when the session has stopped processing", async () => {
    const session = newSession();
    const answer = await post(session, { message: "count to 5" }, undefined, { Prefer: "wait=30" });
    const snapshot = expectSnapshot(answer, session);
    expect(snapshot.is_processing).toBe(false);
    expect(snapshot.messages[1]?.content).toBe("1 2 3 4 5");
    expect(answer.headers["preference-applied"]).toBe("wait=30");
  });

  it("answers after its seconds if the session processes longer", async () => {
    const session = newSession();
    const answer = await post(session, { message: "count to 500" }, undefined, { Prefer: "wait=1" });
    expect(expectSnapshot(answer, session).is_processing).toBe(true);
    await send(url(), "POST", "/api/interrupt", { session });
  });
});

describe("Idempotency-Key", () => {
  it("returns the same turn for the same key and message", async () => {
    const session = newSession();
    const headers = { "Idempotency-Key": "key-1" };
    await post(session, { message: "hello" }, undefined, headers);
    const again = expectSnapshot(await post(session, { message: "hello" }, undefined, headers), session);
    expect(again.messages.filter(({ sender }) => sender === "user")).toHaveLength(1);
    expect((await whenIdle(url(), session)).messages).toHaveLength(2);
    expect(
      expectSnapshot(await post(session, { message: "hello" }, undefined, headers), session).messages,
    ).toHaveLength(2);
  });

  it("rejects the same key with another message with 409", async () => {
    const session = newSession();
    const headers = { "Idempotency-Key": "key-1" };
    await post(session, { message: "hello" }, undefined, headers);
    expectProblem(await post(session, { message: "goodbye" }, undefined, headers), 409);
    expect((await whenIdle(url(), session)).messages).toHaveLength(2);
  });

  it("is scoped to the session", async () => {
    const headers = { "Idempotency-Key": "key-1" };
    for (const message of ["hello", "goodbye"]) {
      const session = newSession();
      expectSnapshot(await post(session, { message }, undefined, headers), session);
    }
  });

  it.each(["", "k".repeat(256), ["a", "b"]])("rejects the key %j with 400", async (key) => {
    expectProblem(await post(newSession(), { message: "hi" }, undefined, { "Idempotency-Key": key }), 400);
  });

  it("accepts one of many equal concurrent chats", async () => {
    const session = newSession();
    const headers = { "Idempotency-Key": "key-1" };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(session, { message: "hello" }, undefined, headers)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await whenIdle(url(), session)).messages).toHaveLength(2);
  });
});
