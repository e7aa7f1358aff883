// Services that keep sessions in a map, for tests of the HTTP layer alone. sessions/ and the black-box suite
// test the real ones.

import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { Thread } from "@colloquy/protocol";
import { InvalidRequest, NotFound, OtherApp, unknownSession } from "../../core/errors.ts";
import { hiddenFrom, type SessionAccess } from "../../core/session-access.ts";
import type { StreamPosition } from "../../core/ports/driven/event-hub.ts";
import type { ChatRequest, SentMessage } from "../../core/ports/driving/chat-request.ts";
import type {
  Claimant,
  ForkTarget,
  NewSessionOptions,
  ConversationService,
  ModelService,
  RecordPage,
  Services,
  SnapshotView,
  StateRequest,
  SetModelRequest,
  ThreadService,
} from "../../core/ports/driving/services.ts";
import type { WalletSignInService } from "../../core/ports/driving/credentials.ts";
import { InMemoryActions } from "./in-memory-actions.ts";
import { InMemoryApps, InMemoryKeys, InMemoryUsers } from "./in-memory-keys.ts";
import { InMemoryReadiness } from "./in-memory-readiness.ts";
import { InMemorySecrets } from "./in-memory-secrets.ts";
import { InMemoryUpdates } from "./in-memory-updates.ts";
import { EPOCH, keptSession, snapshotOf, type KeptSession } from "./kept-session.ts";

/** The sessions, shared by all three services. */
export class InMemoryConversations implements ConversationService, ThreadService, ModelService {
  readonly sessions = new Map<string, KeptSession>();
  /** The last request of each use case. */
  readonly last: { chat?: ChatRequest; state?: StateRequest; setModel?: object; threads?: object } = {};
  models: readonly string[] = ["demo/assistant"];
  readonly #usedKeys = new Set<string>();
  readonly #userStates = new Map<string, string>();
  /** Runs between the access check of a session and the operation on it. */
  beforeWork: () => Promise<void> = () => Promise.resolve();
  /** Bytes of a copy. */
  copiedBytes = 0;
  /** Number of parts of a snapshot. */
  parts = 1;

  async create(
    id: string,
    publicKey: string | null,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<Thread> {
    const session = await this.#make(id, access, creation);
    session.publicKey ??= publicKey;
    return session.thread;
  }

  async chat(request: ChatRequest, creation: NewSessionOptions): Promise<SnapshotView> {
    this.last.chat = request;
    const { sessionId, idempotencyKey: key } = request;
    if (key !== null && (await this.isRepeat(sessionId, key))) return this.#view(sessionId);
    if (key !== null) this.#usedKeys.add(`${sessionId} ${key}`);
    const { messages } = await this.#make(request.sessionId, request.access, creation);
    messages.push({
      id: randomUUID(),
      session_id: request.sessionId,
      thread_id: request.sessionId,
      role: "user",
      content: request.message,
      tool_calls: null,
      tool_results: null,
      created_at: EPOCH,
      turn: 1,
    });
    return this.#view(request.sessionId);
  }

  async send(request: ChatRequest, creation: NewSessionOptions): Promise<SentMessage> {
    await this.chat(request, creation);
    const position = await this.position(request.sessionId, null);
    if (position === null) throw unknownSession();
    return { turn: 1, isRepeat: false, position };
  }

  async position(id: string, access: SessionAccess | null): Promise<StreamPosition | null> {
    const session = this.sessions.get(id);
    if (session === undefined) return null;
    assertShown(session, access);
    return {
      spelling: id,
      incarnation: "incarnation",
      head: session.messages.length,
      app: session.app ?? "default",
      owner: null,
      epoch: 0,
      isProcessing: false,
      streaming: null,
      pendingActions: [],
    };
  }

  async isRepeat(id: string, key: string): Promise<boolean> {
    return this.#usedKeys.has(`${id} ${key}`);
  }

  state(request: StateRequest, creation: NewSessionOptions): SnapshotView | Promise<SnapshotView> {
    this.last.state = request;
    const id = request.sessionId;
    const sent = JSON.stringify(request.userState);
    if (request.userState !== null && sent !== this.#userStates.get(id)) {
      const change = async (): Promise<SnapshotView> => {
        await request.admitChange?.();
        this.#userStates.set(id, sent);
        return await this.state(request, creation);
      };
      return change();
    }
    return this.sessions.has(id)
      ? this.#view(id)
      : this.#make(id, request.access, creation).then(() => this.#view(id));
  }

  async interrupt(id: string, access: SessionAccess, creation: NewSessionOptions): Promise<SnapshotView> {
    await this.#make(id, access, creation);
    return this.#view(id);
  }

  async interruptExisting(): Promise<void> {
    // Only the admin API interrupts sessions of any App.
  }

  async setModel(
    request: Parameters<ModelService["setModel"]>[0],
    creation: NewSessionOptions,
  ): ReturnType<ModelService["setModel"]> {
    const app = this.#appFor(request);
    request.authorize(app);
    this.last.setModel = {
      sessionId: request.sessionId,
      app,
      rig: request.rig,
      utilityModel: request.utilityModel,
    };
    if (!this.models.includes(request.rig))
      throw new InvalidRequest("model_unknown", "The App has no such rig.");
    const created = !this.sessions.has(request.sessionId);
    await this.#make(request.sessionId, request.access, creation);
    return { success: true, rig: request.rig, baml: request.utilityModel ?? request.rig, created };
  }

  async listModels(
    request: Parameters<ModelService["listModels"]>[0],
    creation: NewSessionOptions,
  ): ReturnType<ModelService["listModels"]> {
    request.authorize(this.#appFor(request));
    if (request.sessionId !== null) await this.#make(request.sessionId, request.access, creation);
    return this.models;
  }

  /** Synchronous for an existing session, like one in memory. */
  appOf(id: string): ReturnType<ConversationService["appOf"]> {
    const session = this.sessions.get(id);
    if (session === undefined) return Promise.resolve({ app: "default", seen: null });
    return session.app ?? "default";
  }

  async ensure(id: string, access: SessionAccess, creation: NewSessionOptions): Promise<void> {
    await this.#make(id, access, creation);
  }

  async get(id: string, access: SessionAccess | null): Promise<Thread> {
    return (await this.#under(access, id)).thread;
  }

  async list(query: Parameters<ThreadService["list"]>[0]): ReturnType<ThreadService["list"]> {
    this.last.threads = query;
    const all = [...this.sessions.values()].filter((session) => session.publicKey === query.publicKey);
    const from = query.cursor === null ? 0 : Number(query.cursor);
    const end = from + query.limit;
    const threads = all.slice(from, end).map((session) => session.thread);
    return { threads, next: end < all.length ? String(end) : null };
  }

  async listAll(query: Parameters<ThreadService["listAll"]>[0]): ReturnType<ThreadService["listAll"]> {
    this.last.threads = query;
    const { threads } = await this.list({ ...query, limit: Number.POSITIVE_INFINITY });
    this.last.threads = query;
    return Readable.from([threads]);
  }

  async rename(id: string, title: string, access: SessionAccess | null): Promise<Thread> {
    const { thread } = await this.#under(access, id);
    thread.title = title;
    return thread;
  }

  async pin(id: string, pinned: boolean, access: SessionAccess | null): Promise<Thread> {
    const { thread } = await this.#under(access, id);
    thread.pinned = pinned;
    return thread;
  }

  async fork(
    id: string,
    { session, admit }: ForkTarget,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<Thread> {
    const origin = await this.#under(access, id);
    await admit?.(origin.app ?? "default", this.copiedBytes);
    return (await this.#make(session, { ...access, apps: null }, creation)).thread;
  }

  async claim(id: string, _user: Claimant, access: SessionAccess): Promise<Thread> {
    return (await this.#under(access, id)).thread;
  }

  async transfer(id: string): Promise<Thread> {
    return (await this.#under(null, id)).thread;
  }

  async remove(id: string, access: SessionAccess | null): Promise<string> {
    await this.#under(access, id);
    this.sessions.delete(id);
    return id;
  }

  async messages(
    id: string,
    after: string | null,
    limit: number,
    access: SessionAccess | null,
  ): Promise<RecordPage> {
    const { messages } = await this.#under(access, id);
    const from = after === null ? 0 : messages.findIndex((message) => message.id === after) + 1;
    const page = messages.slice(from, from + limit);
    const next = from + limit < messages.length ? (page.at(-1)?.id ?? null) : null;
    return {
      async read(place) {
        const index = page.findIndex((message) => message.id === place) + 1;
        return page.slice(index, index + 1);
      },
      next,
    };
  }

  #appFor({
    sessionId,
    app,
    keyApp,
  }: Pick<SetModelRequest, "app" | "keyApp"> & { readonly sessionId: string | null }): string {
    const session = sessionId === null ? undefined : this.sessions.get(sessionId);
    return session?.app ?? app ?? keyApp ?? "default";
  }

  async #under(access: SessionAccess | null, id: string): Promise<KeptSession> {
    await this.beforeWork();
    const session = this.#known(id);
    assertShown(session, access);
    return session;
  }

  #known(id: string): KeptSession {
    const session = this.sessions.get(id);
    if (session === undefined) throw new NotFound("session_not_found", "There is no such session.");
    return session;
  }

  async #make(id: string, access: SessionAccess, creation: NewSessionOptions): Promise<KeptSession> {
    const known = this.sessions.get(id);
    if (known !== undefined) assertShown(known, access);
    if (known !== undefined) return known;
    await creation?.admit?.();
    const session = keptSession(id);
    this.sessions.set(id, session);
    return session;
  }

  #view(id: string): SnapshotView {
    const session = this.#known(id);
    const bytes = Buffer.from(JSON.stringify(snapshotOf(session)));
    const size = Math.ceil(bytes.length / this.parts);
    const parts = Array.from({ length: this.parts }, (_, part) =>
      bytes.subarray(part * size, (part + 1) * size),
    );
    return { parts, length: bytes.length, etag: `"${bytes.length}-${session.messages.length}"` };
  }
}

function assertShown(session: KeptSession, access: SessionAccess | null): void {
  const hidden = hiddenFrom({ ...session, owner: null }, access);
  if (hidden !== null) throw hidden === "other_app" ? new OtherApp() : unknownSession();
}

export interface InMemoryServices extends Services {
  readonly conversations: InMemoryConversations;
  readonly threads: InMemoryConversations;
  readonly models: InMemoryConversations;
  readonly actions: InMemoryActions;
  readonly updates: InMemoryUpdates;
  readonly readiness: InMemoryReadiness;
  readonly secrets: InMemorySecrets;
  readonly keys: InMemoryKeys;
  readonly users: InMemoryUsers;
  readonly apps: InMemoryApps;
}

/** Every message is a valid one of the same wallet. */
const inMemoryWallets: WalletSignInService = {
  nonce: () => Promise.resolve("a0nonce0of0the0test"),
  verify: () => Promise.resolve({ token: "token", expiresAt: 0, wallets: ["0xa"] }),
  refresh: () => Promise.resolve({ token: "token", expiresAt: 0, wallets: ["0xa"] }),
};

export function inMemoryServices(): InMemoryServices {
  const conversations = new InMemoryConversations();
  return {
    conversations,
    threads: conversations,
    models: conversations,
    actions: new InMemoryActions((id) => conversations.sessions.get(id)?.app ?? null),
    updates: new InMemoryUpdates(),
    readiness: new InMemoryReadiness(),
    secrets: new InMemorySecrets(),
    keys: new InMemoryKeys(),
    users: new InMemoryUsers(),
    wallets: inMemoryWallets,
    apps: new InMemoryApps(),
    tools: { refresh: () => Promise.resolve(), sources: () => [] },
    userData: {
      export: async function* () {
        yield { kind: "done", sessions: 0, messages: 0, actions: 0, secrets: 0 };
      },
      erase: () => Promise.resolve({ sessions: 0, messages: 0, secrets: 0 }),
    },
    audit: {
      subjectOf: (owner) => Promise.resolve(`subject of ${owner}`),
      note: () => Promise.resolve(),
      list: () => Promise.resolve({ entries: [], next_cursor: null }),
    },
  };
}
