import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { Message } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { createHttpClient } from "./harness/http-request.ts";
import { createRandom } from "./harness/random.ts";
import { countMessages } from "./message-counts.ts";
import { SessionClient, type LoadContext } from "./session-client.ts";
import { Violations } from "./violations.ts";

/** Says what a chat is answered with; `null` breaks the connection. */
type Answers = readonly ({ readonly status: number; readonly detail?: string } | null)[];

const UNCHANGED = { status: 503, detail: "The store cannot be written right now, and nothing was changed." };
const LOST = { status: 503, detail: "The store was lost while it was writing." };
const STORED = { status: 503, detail: "What you sent was stored, but cannot be shown right now." };
const SHOWN = { status: 200 };

const open: { readonly server: Server; readonly session: SessionClient }[] = [];

afterEach(async () => {
  for (const { server, session } of open.splice(0)) {
    await session.follower.close();
    server.closeAllConnections();
    server.close();
  }
});

function message(content: string, index: number): Message {
  return {
    sender: "user",
    content,
    id: `m${index}`,
    created_at: "2026-11-20T00:00:00.000Z",
    status: "complete",
  };
}

/**
 * A session of a service that answers chats in this way, and then shows these messages. Only chats without a key are sent, because only
 * they are answered.
 */
async function sessionOf(
  answers: Answers,
  shown: (sent: string) => readonly string[],
  wholeness: readonly (number | null)[] = [1, 1],
) {
  let asked = 0;
  const script = [...answers];
  const stored: string[] = [];
  let keyed = 0;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    const snapshot = () => ({
      messages: stored.map(message),
      system_events: [],
      pending_actions: [],
      title: "New Chat",
      is_processing: false,
      user_state: null,
      session_id: request.headers["x-session-id"],
      app: "default",
      status: "idle",
      model: "demo/assistant",
      last_event_id: `life-${stored.length}`,
    });
    const answer = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    if (url.pathname === "/api/state") return answer(200, snapshot());
    if (url.pathname !== "/api/chat") return answer(404, {});
    if (request.headers["idempotency-key"] !== undefined) {
      keyed += 1;
      return answer(429, {});
    }
    const given = script.shift();
    stored.push(...shown(url.searchParams.get("message") ?? ""));
    if (given === null || given === undefined) return request.socket.destroy();
    return answer(given.status, given.status === 200 ? snapshot() : given);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It does not listen");
  const { port } = address;
  const violations = new Violations();
  const context: LoadContext = {
    client: createHttpClient(port),
    streamPort: () => port,
    isReachable: () => true,
    violations,
    counts: { resumed: 0, refetched: 0, compared: 0 },
    messages: countMessages(),
    interrupts: { count: 0 },
    giveUp: new AbortController().signal,
    isCarriedOutLate: true,
    disturbedAt: () => 0,
    stuckMs: 1000,
    hasLongAnswers: false,
    wholeness: () => wholeness[asked++ % wholeness.length] ?? null,
  };
  const session = new SessionClient(context, createRandom(1));
  open.push({ server, session });
  /** Sends until one was sent without a key, then looks; answers what was wrong. */
  const findsAfterChat = async (): Promise<string[]> => {
    for (let serial = 0; context.messages.sentOnce === 0; serial += 1)
      await session.chat(`Message ${serial}`);
    await session.state();
    expect(context.messages.sent).toBe(keyed + 1);
    return violations.all.map(({ kind }) => kind);
  };
  return { session, context, findsAfterChat };
}

const ONCE = (sent: string) => [sent];
const TWICE = (sent: string) => [sent, sent];
const NOT = () => [];

describe("a message that is sent once, without a key", () => {
  it.each([
    ["is answered with the snapshot", SHOWN, ONCE, []],
    ["is answered with a snapshot without it", SHOWN, NOT, ["lost"]],
    ["is answered, and stored twice", SHOWN, TWICE, ["doubled"]],
    ["is said not to be stored", UNCHANGED, NOT, []],
    ["is said not to be stored, and is", UNCHANGED, ONCE, ["foreign message"]],
    ["is said to be stored", STORED, ONCE, []],
    ["is said to be stored, and is not", STORED, NOT, ["lost"]],
    ["has an answer that leaves it open, and is not stored", LOST, NOT, []],
    ["has an answer that leaves it open, and is stored", LOST, ONCE, []],
    ["has an answer that leaves it open, and is stored twice", LOST, TWICE, ["doubled"]],
    ["has no answer, and is not stored", null, NOT, []],
    ["has no answer, and is stored", null, ONCE, []],
    ["has no answer, and is stored twice", null, TWICE, ["doubled"]],
    ["has an answer that a chat must not get", { status: 500 }, NOT, ["wrong answer"]],
  ])("%s", async (_name, answer, shown, expected) => {
    const { findsAfterChat } = await sessionOf([answer], shown);
    expect(await findsAfterChat()).toEqual(expected);
  });

  it("leaves a doubt, which is counted, where it had no answer", async () => {
    const { session, context, findsAfterChat } = await sessionOf([null], NOT);
    await findsAfterChat();
    expect([session.doubts, context.messages.inDoubt]).toEqual([1, 1]);
    expect(context.messages.firstTries).toEqual({ asked: 1, acknowledged: 0 });
  });

  it("is acknowledged at the first try or never", async () => {
    const { session, context, findsAfterChat } = await sessionOf([SHOWN], ONCE);
    await findsAfterChat();
    expect([session.doubts, context.messages.acknowledged]).toEqual([0, 1]);
    expect(context.messages.firstTries).toEqual({ asked: 1, acknowledged: 1 });
    expect(context.messages.firstTriesAtWhole).toEqual({ asked: 1, acknowledged: 1 });
  });

  it.each([
    ["has met a server that nothing was done to", [7, 7], 1],
    ["has met one that something is being done to", [null, 7], 0],
    ["has met one that something was done to meanwhile", [7, 8], 0],
  ])("%s", async (_name, wholeness, met) => {
    const { context, findsAfterChat } = await sessionOf([SHOWN], ONCE, wholeness);
    await findsAfterChat();
    expect(context.messages.firstTriesAtWhole.asked).toBe(met);
    expect(context.messages.firstTries.asked).toBe(1);
  });
});
