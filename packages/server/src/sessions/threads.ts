// The use cases of the list of conversations: create, get, list, rename, delete, and the records of one.

import type { PersistedMessage, Thread } from "@colloquy/protocol";
import { Conflict, InvalidRequest, NotFound, ServiceError } from "../core/errors.ts";
import { toPersistedMessage } from "../core/message.ts";
import type { AdmitNewSession, ThreadPage } from "../core/ports/services.ts";
import type { Store } from "../core/ports/store.ts";
import { appOf, countsAs, DEFAULT_APP, type SessionRecord } from "../core/session.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import { otherApp } from "./other-app.ts";
import type { Registry } from "./registry.ts";

export interface ThreadsOptions {
  readonly store: Store;
  readonly registry: Registry;
  readonly dispatcher: Dispatcher;
  /** Whether threads may be listed by wallet address, which is no secret. */
  readonly walletListing: boolean;
}

export class Threads {
  readonly #options: ThreadsOptions;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  async create(
    sessionId: string,
    publicKey: string | null,
    admit: AdmitNewSession,
    apps?: readonly string[],
  ): Promise<Thread> {
    const { registry, store } = this.#options;
    const { outcome, record } = await registry.commit(sessionId, admit, (target) =>
      store.sessions.open(target, { userState: null, publicKey }, apps),
    );
    if (outcome === "other_app") throw otherApp(registry, sessionId, apps);
    if (outcome === "wallet_mismatch") {
      const detail = "This session is bound to another wallet. Start a new session for this one.";
      throw new Conflict("wallet_mismatch", detail);
    }
    return toThread(record);
  }

  async thread(sessionId: string, apps?: readonly string[]): Promise<Thread> {
    const { registry, store } = this.#options;
    const record = await store.sessions.find(sessionId);
    if (record === null) throw unknownSession();
    if (!countsAs(record, apps)) throw otherApp(registry, sessionId, apps);
    return toThread(record);
  }

  async threads(query: {
    readonly publicKey: string;
    readonly opened: readonly string[];
    readonly limit: number;
    readonly cursor: string | null;
  }): Promise<ThreadPage> {
    if (!this.#options.walletListing) {
      throw new ServiceError(
        403,
        "wallet_listing_off",
        "This service does not list threads by wallet. Keep session ids yourself.",
      );
    }
    const { publicKey, limit, opened } = query;
    const after = query.cursor === null ? null : parseCursor(query.cursor);
    const apps = [DEFAULT_APP, ...opened];
    // One more than asked for tells whether there is a next page.
    const records = await this.#options.store.sessions.list({ publicKey, apps, limit: limit + 1, after });
    const shown = records.slice(0, limit);
    const last = shown.at(-1);
    const next = records.length > limit && last !== undefined ? formatCursor(last) : null;
    return { threads: shown.map(toThread), next };
  }

  async rename(sessionId: string, title: string, apps?: readonly string[]): Promise<Thread> {
    const { registry, store } = this.#options;
    const askedAt = registry.moment();
    const committed = await registry.orReload(sessionId, store.sessions.rename(sessionId, title, apps));
    if (committed === null) throw unknownSession();
    if (committed.outcome === "other_app") throw otherApp(registry, sessionId, apps);
    return toThread(registry.settle(committed, askedAt).record);
  }

  async remove(sessionId: string, apps?: readonly string[]): Promise<void> {
    const { registry, store } = this.#options;
    const removed = await registry.orReload(sessionId, store.sessions.remove(sessionId, apps));
    if (removed === null) throw unknownSession();
    if (removed === "other_app") throw otherApp(registry, sessionId, apps);
    registry.forget(sessionId, removed.life);
    this.#options.dispatcher.abandon(sessionId, removed.life);
  }

  async messages(
    sessionId: string,
    after: string | null,
    limit: number,
    apps?: readonly string[],
  ): Promise<readonly PersistedMessage[]> {
    const { registry, store } = this.#options;
    const messages = await store.sessions.messages(sessionId, after, limit, apps);
    if (messages === "other_app") throw otherApp(registry, sessionId, apps);
    if (messages === null) {
      const detail = "There is no such session, or no message with the id given as `after` in it.";
      throw new NotFound("not_found", detail);
    }
    return messages.map((message) => toPersistedMessage(sessionId, message));
  }
}

function toThread(record: SessionRecord): Thread {
  return {
    session_id: record.id,
    title: record.title,
    app: appOf(record),
    created_at: new Date(record.createdAt).toISOString(),
    updated_at: new Date(record.updatedAt).toISOString(),
  };
}

/** Where a page ended: the last one's time of activity and key, both in base 36. */
function formatCursor(record: SessionRecord): string {
  return `${record.updatedAt.toString(36)}-${record.key.toString(36)}`;
}

function parseCursor(cursor: string): { readonly updatedAt: number; readonly key: number } {
  const match = /^([0-9a-z]{1,10})-([0-9a-z]{1,10})$/.exec(cursor);
  if (match?.[1] === undefined || match[2] === undefined) {
    const detail = "`cursor` must be one that the Link header of an earlier page gave.";
    throw new InvalidRequest("invalid_cursor", detail);
  }
  return { updatedAt: Number.parseInt(match[1], 36), key: Number.parseInt(match[2], 36) };
}

function unknownSession(): NotFound {
  return new NotFound(
    "session_not_found",
    "There is no session with this id. Check it, or create the session first.",
  );
}
