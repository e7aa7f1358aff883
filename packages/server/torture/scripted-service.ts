// For tests of the torture itself: a service with one session that answers chats as scripted, whatever it
// does with the message.

import { createServer } from "node:http";
import { once } from "node:events";
import type { Message } from "@colloquy/protocol";
import { createHttpClient } from "./harness/http-request.ts";
import { countMessages } from "./message-counts.ts";
import type { LoadContext } from "./session-client.ts";
import { Violations } from "./violations.ts";

/** The answer to a chat without a key; `null` breaks the connection. */
export type ChatAnswer = { readonly status: number; readonly detail?: string } | null;

export interface ScriptedService {
  /** All messages; tests may modify them. */
  readonly messages: Message[];
  readonly context: LoadContext;
  readonly violations: Violations;
  stop(): void;
}

/**
 * `store` decides what happens to a message. Chats with a key and files are rejected. `wholeness` gives successive
 * values of the context's.
 */
export async function startScriptedService(
  chatAnswer: ChatAnswer,
  store: (sent: string) => readonly string[],
  wholeness: readonly (number | null)[] = [1],
): Promise<ScriptedService> {
  const messages: Message[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    const answer = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    const snapshot = () => snapshotOf(messages, String(request.headers["x-session-id"]));
    if (url.pathname === "/api/state") return answer(200, snapshot());
    if (url.pathname.endsWith("/messages")) return answer(200, messages.map(recordOf));
    if (url.pathname === "/api/files") return answer(429, {});
    if (url.pathname !== "/api/chat") return answer(404, {});
    if (request.headers["idempotency-key"] !== undefined) return answer(429, {});
    for (const text of store(url.searchParams.get("message") ?? "")) addMessage(messages, "user", text);
    if (chatAnswer === null) return request.socket.destroy();
    return answer(chatAnswer.status, chatAnswer.status === 200 ? snapshot() : chatAnswer);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server is not listening");
  const { port } = address;
  const violations = new Violations();
  let asked = 0;
  const context: LoadContext = {
    client: createHttpClient(port),
    streamPort: () => port,
    isReachable: () => true,
    violations,
    counts: { resumed: 0, refetched: 0, compared: 0 },
    messages: countMessages(),
    done: { interrupts: 0, edits: 0, forks: 0, claims: 0, decisions: 0, expiries: 0, files: 0 },
    office: null,
    giveUp: new AbortController().signal,
    isCarriedOutLate: true,
    disturbedAt: () => 0,
    stuckMs: 1000,
    hasLongAnswers: false,
    wholeness: () => wholeness[asked++ % wholeness.length] ?? null,
  };
  const stop = (): void => {
    context.client.close();
    server.closeAllConnections();
    server.close();
  };
  return { messages, context, violations, stop };
}

export function addMessage(messages: Message[], sender: Message["sender"], content: string): void {
  const id = `m${messages.length + 1}`;
  const asked = messages.filter((message) => message.sender === "user").length;
  const turn = sender === "user" ? asked + 1 : asked;
  messages.push({ sender, content, id, created_at: "2026-11-20T00:00:00.000Z", status: "complete", turn });
}

function snapshotOf(messages: readonly Message[], sessionId: string) {
  return {
    messages: [...messages],
    system_events: [],
    pending_actions: [],
    title: "New Chat",
    is_processing: false,
    user_state: null,
    session_id: sessionId,
    app: "default",
    status: "idle",
    model: "demo/assistant",
    last_event_id: `life-${messages.length}`,
  };
}

function recordOf({ id, sender, content }: Message) {
  return { id, role: sender === "user" ? "user" : "assistant", content };
}
