// The use cases of the list of conversations: create, get, list, rename, pin and delete, and the records of a
// conversation.

import type { PersistedMessage, Thread } from "@colloquy/protocol";
import type { AccessibleTarget } from "../core/commands/command.ts";
import type { SessionCommand } from "../core/commands/index.ts";
import { Conflict, InvalidRequest, NotFound, ServiceError } from "../core/errors.ts";
import { toPersistedMessage } from "../core/message.ts";
import type {
  NewSessionOptions,
  RecordPage,
  ThreadPage,
  ThreadSearch,
  ThreadService,
} from "../core/ports/driving/services.ts";
import type { SessionUse, ThreadQuery } from "../core/ports/driven/session-store.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { appOf, belongsToAny, DEFAULT_APP, type SessionRecord } from "../core/session.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Bytes of stored text after which a page of messages ends. */
const PAGE_BYTES = 1024 * 1024;
/** Maximum messages of one read. */
const PORTION_LIMIT = 100;
/** Maximum threads of one read. */
const THREAD_PORTION = 100;

export interface ThreadsOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
  /** True if threads may be listed by wallet address, which is no secret. */
  readonly walletListing: boolean;
}

export class Threads implements ThreadService {
  readonly #options: ThreadsOptions;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  async create(
    sessionId: string,
    publicKey: string | null,
    creation: NewSessionOptions,
    apps?: readonly string[],
  ): Promise<Thread> {
    const { registry, store } = this.#options;
    const { outcome, record } = await registry.commit(sessionId, creation, (target) =>
      store.execute({ kind: "open", target: { ...target, apps }, input: { userState: null, publicKey } }),
    );
    if (outcome === "other_app") throw registry.otherApp(sessionId, apps);
    if (outcome === "wallet_mismatch") {
      const detail = "This session is bound to another wallet. Start a new session for this one.";
      throw new Conflict("wallet_mismatch", detail);
    }
    return toThread(record);
  }

  async get(sessionId: string, apps?: readonly string[]): Promise<Thread> {
    const { registry, store } = this.#options;
    const record = await store.sessions.find(sessionId);
    if (record === null) throw unknownSession();
    if (!belongsToAny(record, apps)) throw registry.otherApp(sessionId, apps);
    await registry.noteUse(record);
    return toThread(record);
  }

  async list(query: ThreadSearch & { readonly limit: number }): Promise<ThreadPage> {
    const { limit } = query;
    // One more than requested, to find out whether there is a next page.
    const records = await this.#options.store.sessions.list({ ...this.#query(query), limit: limit + 1 });
    const shown = records.slice(0, limit);
    const last = shown.at(-1);
    const next = records.length > limit && last !== undefined ? formatCursor(last) : null;
    return { threads: shown.map(toThread), next };
  }

  /**
   * Reads the keys of all threads at once, 8 bytes each. A cursor would miss threads that move to the front while the client reads.
   */
  async listAll(query: ThreadSearch): Promise<AsyncIterable<readonly Thread[]>> {
    const { sessions } = this.#options.store;
    const found = this.#query(query);
    const keys = await sessions.listKeys(found);
    async function* portions(): AsyncGenerator<readonly Thread[]> {
      for (let from = 0; from < keys.length; from += THREAD_PORTION) {
        const records = await sessions.byKeys(keys.slice(from, from + THREAD_PORTION), found.apps);
        yield records.map(toThread);
      }
    }
    return portions();
  }

  #query({ publicKey, opened, cursor }: ThreadSearch): Omit<ThreadQuery, "limit"> {
    if (!this.#options.walletListing) {
      throw new ServiceError(
        403,
        "wallet_listing_off",
        "This service does not list threads by wallet. Keep session ids yourself.",
      );
    }
    return {
      publicKey,
      apps: [DEFAULT_APP, ...opened],
      after: cursor === null ? null : parseCursor(cursor),
    };
  }

  async rename(sessionId: string, title: string, apps?: readonly string[]): Promise<Thread> {
    const target = existing(sessionId, apps);
    return toThread(await this.#change({ kind: "rename", target, input: { title } }));
  }

  async pin(sessionId: string, pinned: boolean, apps?: readonly string[]): Promise<Thread> {
    const target = existing(sessionId, apps);
    return toThread(await this.#change({ kind: "pin", target, input: { pinned } }));
  }

  async remove(sessionId: string, apps?: readonly string[]): Promise<string> {
    const target = existing(sessionId, apps);
    const { life, spelling } = await this.#change({ kind: "delete", target, input: null });
    this.#options.dispatcher.abandon(sessionId, life);
    return spelling;
  }

  async #change(
    command: Extract<SessionCommand, { readonly kind: "rename" | "pin" | "delete" }>,
  ): Promise<SessionRecord> {
    const { registry } = this.#options;
    const { session, apps } = command.target;
    const applied = await registry.execute(command);
    if (applied === null) throw unknownSession();
    if (applied.outcome === "other_app") throw registry.otherApp(session, apps);
    return applied.record;
  }

  async messages(
    sessionId: string,
    after: string | null,
    limit: number,
    apps?: readonly string[],
  ): Promise<RecordPage> {
    const { registry, store } = this.#options;
    const page = await store.sessions.messagePage(sessionId, after, { limit, bytes: PAGE_BYTES }, apps);
    if (page === "other_app") throw registry.otherApp(sessionId, apps);
    if (page === null) throw unknownMessages();
    await registry.noteUse(page.session);
    const { session, last, hasMore } = page;
    return {
      read: async (place) =>
        last === null || place === last ? [] : await this.#recordsUpTo(session, place ?? after, last, apps),
      next: hasMore ? last : null,
    };
  }

  /** Returns some records after the one with id `after`, up to the one with id `last`. */
  async #recordsUpTo(
    { id, life, spelling }: SessionUse,
    after: string | null,
    last: string,
    apps: readonly string[] | undefined,
  ): Promise<readonly PersistedMessage[]> {
    const messages = await this.#options.store.sessions.messages(id, after, PORTION_LIMIT, apps, life);
    // The session was deleted, or now belongs to another App, while the client was reading.
    if (messages === null || messages === "other_app" || messages.length === 0) throw unknownMessages();
    const end = messages.findIndex((message) => message.id === last);
    const shown = end < 0 ? messages : messages.slice(0, end + 1);
    return shown.map((message) => toPersistedMessage(spelling, message));
  }
}

function existing(session: string, apps: readonly string[] | undefined): AccessibleTarget {
  return { session, birth: null, load: false, apps };
}

function toThread(record: SessionRecord): Thread {
  return {
    session_id: record.spelling,
    title: record.title,
    app: appOf(record),
    pinned: record.pinned,
    created_at: new Date(record.createdAt).toISOString(),
    updated_at: new Date(record.updatedAt).toISOString(),
  };
}

/** Encodes the end of a page: the last thread's activity time and key, in base 36, and whether it is pinned. */
function formatCursor(record: SessionRecord): string {
  const position = `${record.updatedAt.toString(36)}-${record.key.toString(36)}`;
  return record.pinned ? `${position}-pinned` : position;
}

function parseCursor(cursor: string): ThreadQuery["after"] {
  const match = /^([0-9a-z]{1,10})-([0-9a-z]{1,10})(-pinned)?$/.exec(cursor);
  if (match?.[1] === undefined || match[2] === undefined) {
    const detail = "`cursor` must be one that the Link header of an earlier page gave.";
    throw new InvalidRequest("invalid_cursor", detail);
  }
  return {
    pinned: match[3] !== undefined,
    updatedAt: Number.parseInt(match[1], 36),
    key: Number.parseInt(match[2], 36),
  };
}

function unknownMessages(): NotFound {
  const detail = "There is no such session, or no message with the id given as `after` in it.";
  return new NotFound("not_found", detail);
}

function unknownSession(): NotFound {
  return new NotFound(
    "session_not_found",
    "There is no session with this id. Check it, or create the session first.",
  );
}
