// Services that keep sessions in a map, for tests of the HTTP layer alone. sessions/ and the black-box suite
// test the real ones.

import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { Thread } from "@colloquy/protocol";
import { InvalidRequest, NotFound, OtherApp } from "../../core/errors.ts";
import { belongsToAny } from "../../core/session.ts";
import type {
  NewSessionOptions,
  ChatRequest,
  ConversationService,
  ModelService,
  RecordPage,
  Services,
  SnapshotView,
  StateRequest,
  SetModelRequest,
  ThreadService,
} from "../../core/ports/driving/services.ts";
import { InMemoryActions } from "./in-memory-actions.ts";
import { InMemoryApps, InMemoryKeys } from "./in-memory-keys.ts";
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
  /** Number of parts of a snapshot. */
  parts = 1;

  async create(
    id: string,
    publicKey: string | null,
    creation: NewSessionOptions,
    apps?: readonly string[],
  ): Promise<Thread> {
    const session = await this.#make(id, creation, apps);
    session.publicKey ??= publicKey;
    return session.thread;
  }

  async chat(request: ChatRequest, creation: NewSessionOptions): Promise<SnapshotView> {
    this.last.chat = request;
    const { sessionId, idempotencyKey: key } = request;
    if (key !== null && (await this.isRepeat(sessionId, key))) return this.#view(sessionId);
    if (key !== null) this.#usedKeys.add(`${sessionId} ${key}`);
    const { messages } = await this.#make(request.sessionId, creation);
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
    return this.sessions.has(id) ? this.#view(id) : this.#make(id, creation).then(() => this.#view(id));
  }

  async interrupt(id: string, creation: NewSessionOptions, apps?: readonly string[]): Promise<SnapshotView> {
    await this.#make(id, creation, apps);
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
    await this.#make(request.sessionId, creation);
    return { success: true, rig: request.rig, baml: request.utilityModel ?? request.rig, created };
  }

  async listModels(
    request: Parameters<ModelService["listModels"]>[0],
    creation: NewSessionOptions,
  ): ReturnType<ModelService["listModels"]> {
    request.authorize(this.#appFor(request));
    if (request.sessionId !== null) await this.#make(request.sessionId, creation);
    return this.models;
  }

  /** Synchronous for an existing session, like one in memory. */
  appOf(id: string): ReturnType<ConversationService["appOf"]> {
    const session = this.sessions.get(id);
    if (session === undefined) return Promise.resolve({ app: "default", seen: null });
    return session.app ?? "default";
  }

  async ensure(id: string, creation: NewSessionOptions): Promise<void> {
    await this.#make(id, creation);
  }

  async get(id: string, apps?: readonly string[]): Promise<Thread> {
    return (await this.#under(apps, id)).thread;
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

  async rename(id: string, title: string, apps?: readonly string[]): Promise<Thread> {
    const { thread } = await this.#under(apps, id);
    thread.title = title;
    return thread;
  }

  async pin(id: string, pinned: boolean, apps?: readonly string[]): Promise<Thread> {
    const { thread } = await this.#under(apps, id);
    thread.pinned = pinned;
    return thread;
  }

  async remove(id: string, apps?: readonly string[]): Promise<string> {
    await this.#under(apps, id);
    this.sessions.delete(id);
    return id;
  }

  async messages(
    id: string,
    after: string | null,
    limit: number,
    apps?: readonly string[],
  ): Promise<RecordPage> {
    const { messages } = await this.#under(apps, id);
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

  async #under(apps: readonly string[] | undefined, id: string): Promise<KeptSession> {
    await this.beforeWork();
    const session = this.#known(id);
    if (!belongsToAny(session, apps)) throw new OtherApp();
    return session;
  }

  #known(id: string): KeptSession {
    const session = this.sessions.get(id);
    if (session === undefined) throw new NotFound("session_not_found", "There is no such session.");
    return session;
  }

  async #make(id: string, creation: NewSessionOptions, apps?: readonly string[]): Promise<KeptSession> {
    const known = this.sessions.get(id);
    if (known !== undefined && !belongsToAny(known, apps)) throw new OtherApp();
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

export interface InMemoryServices extends Services {
  readonly conversations: InMemoryConversations;
  readonly threads: InMemoryConversations;
  readonly models: InMemoryConversations;
  readonly actions: InMemoryActions;
  readonly updates: InMemoryUpdates;
  readonly readiness: InMemoryReadiness;
  readonly secrets: InMemorySecrets;
  readonly keys: InMemoryKeys;
  readonly apps: InMemoryApps;
}

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
    apps: new InMemoryApps(),
    tools: { refresh: () => Promise.resolve(), sources: () => [] },
  };
}
