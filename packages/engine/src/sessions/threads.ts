// The use cases of the list of conversations: create, get, list, rename, pin, fork, claim and delete, and the records of a
// conversation.

import { randomUUID } from "node:crypto";
import type { Feedback, PersistedMessage, Thread } from "@colloquy/protocol";
import { toWireAction } from "../core/action.ts";
import type { Actor } from "../core/audit.ts";
import type { AppendedTurn } from "../core/commands/append.ts";
import type { SessionTarget } from "../core/commands/command.ts";
import type { EditInput } from "../core/commands/edit.ts";
import type { ForkRejection } from "../core/commands/fork.ts";
import type { FeedbackInput, FeedbackRejection } from "../core/commands/give-feedback.ts";
import type { SessionCommand } from "../core/commands/index.ts";
import type { TransferInput } from "../core/commands/transfer.ts";
import { Conflict, InvalidRequest, NotFound, ServiceError, unknownSession } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { toPersistedMessage, toWireFeedback } from "../core/message.ts";
import type {
  Claimant,
  ForkTarget,
  NewSessionOptions,
  RecordPage,
  StoredTurn,
  ThreadPage,
  ThreadSearch,
  WantedTurn,
} from "../core/ports/driving/services.ts";
import type { SessionUse, ThreadQuery } from "../core/ports/driven/session-store.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { hiddenFrom, type SessionAccess } from "../core/session-access.ts";
import { appOf, type SessionRecord } from "../core/session.ts";
import { COPY_BYTES } from "../core/written-bytes.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import { chatRejection } from "./chat-input.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Bytes of stored text after which a page of messages ends. */
const PAGE_BYTES = 1024 * 1024;
/** Maximum messages of one read. */
const PORTION_LIMIT = 100;
/** As above, with the reasoning, whose size is known only after it was read. */
const REASONING_LIMIT = 10;
/** Maximum decided actions of a session that are read for one of its turns. */
const LISTED_ACTIONS = 100;
/** Maximum threads of one read. */
const THREAD_PORTION = 100;

export interface ThreadsOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
  /** True if threads may be listed by wallet address, which is no secret. */
  readonly walletListing: boolean;
  /** Maximum UTF-8 bytes of a session's messages as JSON. */
  readonly maxMessageBytes: number;
}

/** Thread lists and records of sessions; `access` as in `Conversations`. */
export class Threads {
  readonly #options: ThreadsOptions;
  /** The last copy. Copies run one after the other, because the commits of others wait for one: a large one takes half a second. */
  #copying: Promise<unknown> = Promise.resolve();

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  async create(
    sessionId: string,
    publicKey: string | null,
    access: SessionAccess,
    creation: NewSessionOptions,
    metadata: JsonObject = {},
  ): Promise<Thread> {
    const { registry } = this.#options;
    const command = { kind: "open", input: { userState: null, publicKey, metadata } } as const;
    const { outcome, record } = await registry.executeOrCreate(sessionId, access, creation, command);
    if (outcome === "wallet_mismatch") {
      const detail = "This session is bound to another wallet. Start a new session for this one.";
      throw new Conflict("wallet_mismatch", detail);
    }
    if (outcome === "metadata_too_large") throw metadataTooLarge();
    return toThread(record);
  }

  async get(sessionId: string, access: SessionAccess | null): Promise<Thread> {
    const { registry, store } = this.#options;
    const record = await store.sessions.find(sessionId);
    if (record === null) throw unknownSession();
    const hidden = hiddenFrom(record, access);
    if (hidden !== null) throw registry.hidden(sessionId, access, hidden);
    await registry.noteUse(record);
    return toThread(record);
  }

  /** Throws `InvalidRequest` for a `cursor` that no earlier page returned. */
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
        const records = await sessions.byKeys(keys.slice(from, from + THREAD_PORTION), found.access);
        yield records.map(toThread);
      }
    }
    return portions();
  }

  #query({ publicKey, access, cursor, ...filter }: ThreadSearch): Omit<ThreadQuery, "limit"> {
    if (publicKey !== null && !this.#options.walletListing) {
      throw new ServiceError(
        403,
        "wallet_listing_off",
        "This service does not list threads by wallet. Keep session ids yourself.",
      );
    }
    return { publicKey, access, after: cursor === null ? null : parseCursor(cursor), ...filter };
  }

  rename(sessionId: string, title: string, access: SessionAccess | null): Promise<Thread> {
    return this.edit(sessionId, { title }, access);
  }

  /** Changes title, metadata and archive. Throws `InvalidRequest` if the metadata would be too large. */
  async edit(sessionId: string, input: EditInput, access: SessionAccess | null): Promise<Thread> {
    const target = existing(sessionId, access);
    const applied = await this.#options.registry.execute({ kind: "edit", target, input });
    if (applied === null) throw unknownSession();
    if (applied.outcome === "metadata_too_large") throw metadataTooLarge();
    return toThread(applied.record);
  }

  async pin(sessionId: string, pinned: boolean, access: SessionAccess | null): Promise<Thread> {
    const target = existing(sessionId, access);
    return toThread(await this.#change({ kind: "pin", target, input: { pinned } }));
  }

  /**
   * Replaces the feedback on an answer, or removes it (score 0 without comment and tags). Returns the feedback; `null`
   * for none. @throws NotFound for an unknown message, InvalidRequest for one of the user, Conflict while it is written
   */
  async giveFeedback(
    sessionId: string,
    input: FeedbackInput,
    access: SessionAccess | null,
  ): Promise<Feedback | null> {
    const target = existing(sessionId, access);
    const applied = await this.#options.registry.execute({ kind: "giveFeedback", target, input });
    if (applied === null) throw unknownSession();
    const { outcome } = applied;
    if (typeof outcome === "string") throw feedbackRejection(outcome);
    return outcome.feedback === undefined ? null : toWireFeedback(outcome.feedback);
  }

  /**
   * Copies the finished turns of a session into an empty one, which it creates if necessary, and returns the
   * copy. Throws `NotFound` for an unknown message, and `Conflict` if its turn is open or the target is not
   * empty.
   */
  async fork(
    sessionId: string,
    { session, through, admit }: ForkTarget,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<Thread> {
    const { registry, store } = this.#options;
    const size = admit === null ? null : await store.sessions.copySize(sessionId, through, access);
    // The command gives the reason why a session is hidden.
    if (size !== null) await admit?.(size.app, size.bytes + COPY_BYTES);
    const counted = size === null ? {} : { lastTurn: size.lastTurn };
    const input = { origin: sessionId, through, access, messageId: randomUUID(), ...counted };
    // A copy that belongs to another App is not empty, whether or not the request may use that App.
    const ofAnyApp = { ...access, apps: null };
    const copied = this.#copying.then(() =>
      registry.executeOrCreate(session, ofAnyApp, creation, { kind: "fork", input }),
    );
    this.#copying = copied.catch(() => undefined);
    const { outcome, record } = await copied;
    if (outcome !== "ok") throw forkRejection(outcome);
    return toThread(record);
  }

  /**
   * Makes the user the owner of an idle session without one. Throws `Conflict` while the session is busy, and
   * 403 if it is bound to a wallet that the user has not proved.
   */
  async claim(
    sessionId: string,
    { owner, wallets }: Claimant,
    access: SessionAccess,
    by: Actor,
  ): Promise<Thread> {
    const target = existing(sessionId, access);
    const input = { owner, wallets, by };
    const applied = await this.#options.registry.execute({ kind: "claim", target, input });
    if (applied === null) throw unknownSession();
    if (applied.outcome === "session_busy") {
      throw new Conflict(
        "session_busy",
        "The assistant is still answering. Claim the conversation afterwards.",
      );
    }
    return toThread(applied.record);
  }

  /** Changes the owner of the session, for operators. */
  async transfer(sessionId: string, to: Omit<TransferInput, "by">, by: Actor | null): Promise<Thread> {
    const target = existing(sessionId, null);
    return toThread(await this.#change({ kind: "transfer", target, input: { ...to, by } }));
  }

  /** Deletes the session. Returns its id in the original spelling. */
  async remove(sessionId: string, access: SessionAccess | null, by: Actor | null = null): Promise<string> {
    const target = existing(sessionId, access);
    const { incarnation, spelling } = await this.#change({ kind: "delete", target, input: by });
    this.#options.dispatcher.abandon(sessionId, incarnation);
    return spelling;
  }

  async append(
    sessionId: string,
    turns: readonly AppendedTurn[],
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<Thread> {
    const { registry, maxMessageBytes } = this.#options;
    const command = { kind: "append", input: { turns, messageId: randomUUID(), maxMessageBytes } } as const;
    const { outcome, record } = await registry.executeOrCreate(sessionId, access, creation, command);
    if (outcome !== "ok") throw chatRejection(outcome);
    return toThread(record);
  }

  async turn(
    sessionId: string,
    { number, answers: span }: WantedTurn,
    access: SessionAccess,
  ): Promise<StoredTurn | null> {
    const { registry, store } = this.#options;
    const session = await store.sessions.find(sessionId);
    if (session === null) throw unknownSession();
    const hidden = hiddenFrom(session, access);
    if (hidden !== null) throw registry.hidden(sessionId, access, hidden);
    const { incarnation } = session;
    const [found, actions, reasoning, messages] = await Promise.all([
      store.admin.turns(sessionId, number + 1, 1),
      store.actions.list(sessionId, LISTED_ACTIONS),
      store.turns.reasoning(sessionId, incarnation, [number]),
      // Hidden answers of other turns may stand among them.
      span === null || span.after === null
        ? []
        : store.sessions.messages(sessionId, span.after, span.length + 3, access, incarnation),
    ]);
    const { turn, finishReason } = found?.[0] ?? {};
    if (turn?.number !== number) return null;
    const answers =
      messages === null || typeof messages === "string"
        ? []
        : messages.filter((message) => message.turn === number && message.role === "assistant");
    const { state, model, usage, failure, enqueuedAt: acceptedAt, endedAt, options } = turn;
    return {
      number,
      state,
      model,
      usage,
      failure,
      isCut: state === "complete" && finishReason === "length",
      acceptedAt,
      endedAt,
      note: options.note ?? {},
      stepOfCall: Object.fromEntries(
        answers.flatMap(({ toolCalls }) => toolCalls.map(({ id, step }) => [id, step])),
      ),
      reasoning: reasoning.map(({ text, step }) => ({ text, step })),
      actions: (actions ?? []).filter((action) => action.turn === number).map(toWireAction),
    };
  }

  async #change(
    command: Extract<SessionCommand, { readonly kind: "pin" | "delete" | "transfer" }>,
  ): Promise<SessionRecord> {
    const applied = await this.#options.registry.execute(command);
    if (applied === null) throw unknownSession();
    return applied.record;
  }

  /** Returns a page of records. It ends after `limit` records, or with the record that exceeds 1 MiB in total. */
  async messages(
    sessionId: string,
    after: string | null,
    limit: number,
    access: SessionAccess | null,
    withReasoning = false,
  ): Promise<RecordPage> {
    const { registry, store } = this.#options;
    const page = await store.sessions.messagePage(sessionId, after, { limit, bytes: PAGE_BYTES }, access);
    if (typeof page === "string") throw registry.hidden(sessionId, access, page);
    if (page === null) throw unknownMessages();
    await registry.noteUse(page.session);
    const { session, last, hasMore } = page;
    return {
      read: async (place) => {
        if (last === null || place === last) return [];
        const portion = { after: place ?? after, last, withReasoning };
        return await this.#recordsUpTo(session, portion, access);
      },
      next: hasMore ? last : null,
    };
  }

  /** Returns some records after the one with id `after`, up to the one with id `last`. */
  async #recordsUpTo(
    { id, incarnation, spelling }: SessionUse,
    portion: { readonly after: string | null; readonly last: string; readonly withReasoning: boolean },
    access: SessionAccess | null,
  ): Promise<readonly PersistedMessage[]> {
    const { sessions, turns } = this.#options.store;
    const { after, last, withReasoning } = portion;
    const limit = withReasoning ? REASONING_LIMIT : PORTION_LIMIT;
    const messages = await sessions.messages(id, after, limit, access, incarnation);
    // The session was deleted, or now belongs to another App or user, while the client was reading.
    if (messages === null || typeof messages === "string" || messages.length === 0) throw unknownMessages();
    const end = messages.findIndex((message) => message.id === last);
    const shown = end < 0 ? messages : messages.slice(0, end + 1);
    const reasoned = withReasoning
      ? shown.filter(({ extras }) => extras?.has_reasoning === true).map(({ turn }) => turn)
      : [];
    const reasoning = reasoned.length === 0 ? [] : await turns.reasoning(id, incarnation, reasoned);
    return shown.map((message) => toPersistedMessage(spelling, message, reasoning));
  }
}

function feedbackRejection(reason: FeedbackRejection): Error {
  switch (reason) {
    case "message_not_found":
      return new NotFound("message_not_found", "The session has no message with this id.");
    case "not_an_answer":
      return new InvalidRequest(
        "not_an_answer",
        "Feedback is for answers of the assistant. Send the id of one.",
      );
    case "answer_in_progress":
      return new Conflict(
        "answer_in_progress",
        "The assistant is still writing this answer. Try again afterwards.",
      );
  }
}

function forkRejection(reason: ForkRejection): Error {
  switch (reason) {
    case "unknown_origin":
      return unknownSession();
    case "message_not_found":
      return new NotFound(
        "message_not_found",
        "The session has no message with the id in `through_message_id`.",
      );
    case "turn_not_finished":
      return new Conflict(
        "turn_not_finished",
        "The assistant has not finished its answer to this message. Fork through an earlier message, or afterwards.",
      );
    case "session_not_empty":
      return new Conflict(
        "session_not_empty",
        "The session with the id in `session_id` is in use. Choose a new UUID for the copy.",
      );
  }
}

function metadataTooLarge(): InvalidRequest {
  const detail = "The metadata must be at most 4 KiB of JSON, nested at most 16 deep.";
  return new InvalidRequest("metadata_too_large", detail);
}

function existing(session: string, access: SessionAccess | null): SessionTarget {
  return { session, birth: null, load: false, access };
}

function toThread(record: SessionRecord): Thread {
  return {
    session_id: record.spelling,
    title: record.title,
    app: appOf(record),
    pinned: record.pinned,
    ...(record.archived && { is_archived: true as const }),
    metadata: record.metadata,
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
