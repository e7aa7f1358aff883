// Sessions as threads: create, list, rename, pin, fork, claim, delete.

import { randomId } from "./random-id.ts";
import { nextCursor, type Abortable, type Transport } from "./transport.ts";
import type { Feedback, PersistedMessage, SearchPage, Thread } from "./wire.ts";

export interface ThreadPage {
  readonly threads: Thread[];
  /** Cursor of the next page; `null` on the last one. */
  readonly next: string | null;
}

type Metadata = Thread["metadata"];

export type ThreadOperations = ReturnType<typeof listing> &
  ReturnType<typeof reading> &
  ReturnType<typeof changing>;

export function threadOperations(transport: Transport): ThreadOperations {
  return { ...listing(transport), ...reading(transport), ...changing(transport) };
}

function listing(transport: Transport) {
  // Listing needs a session id and creates the session if it does not exist: use one id for all lists of this
  // client.
  let asking: string | null = null;
  return {
    /** Creates the session. Sets wallet and metadata only if the session has none. Idempotent. */
    createSession(
      id: string,
      options: Abortable & {
        readonly publicKey?: string | undefined;
        readonly metadata?: Metadata | undefined;
      } = {},
    ): Promise<Thread> {
      const { publicKey, metadata, signal } = options;
      return transport.body({
        method: "POST",
        path: "/api/sessions",
        headers: { "X-Session-Id": id },
        body: { public_key: publicKey, metadata },
        repeatable: true,
        signal,
      });
    },

    /**
     * Lists the threads of a wallet or, without one, of the signed-in user, most recently active first.
     * Returns all of them, or a page of `limit` (1 to 200).
     */
    async listThreads(
      publicKey: string | undefined,
      options: Abortable & {
        readonly limit?: number | undefined;
        readonly cursor?: string | undefined;
        /** Lists only threads whose metadata contains these string values. */
        readonly metadata?: Readonly<Record<string, string>> | undefined;
        /** Lists only archived threads, or only the others; both when absent. */
        readonly archived?: boolean | undefined;
        /** The current session; one without messages when absent. */
        readonly sessionId?: string | undefined;
      } = {},
    ): Promise<ThreadPage> {
      const { limit, cursor, archived, metadata = {}, sessionId = (asking ??= randomId()), signal } = options;
      const filters = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
      const answer = await transport.required<Thread[]>({
        path: "/api/sessions",
        query: {
          public_key: publicKey,
          limit,
          cursor,
          archived: archived?.toString(),
          ...Object.fromEntries(filters),
        },
        headers: { "X-Session-Id": sessionId },
        field: "length",
        repeatable: true,
        signal,
      });
      return { threads: answer.body, next: nextCursor(answer) };
    },

    /**
     * Finds messages with all words of `query`, the newest first: of the signed-in user's sessions, or without a user of the
     * session `sessionId` alone. A page of `limit` (1 to 50, default 20) may have fewer results, also none, although
     * `next_cursor` names another one.
     */
    search(
      query: string,
      options: Abortable & {
        readonly limit?: number | undefined;
        readonly cursor?: string | undefined;
        /** The session to search without a signed-in user; one without messages when absent. */
        readonly sessionId?: string | undefined;
      } = {},
    ): Promise<SearchPage> {
      const { limit, cursor, sessionId = (asking ??= randomId()), signal } = options;
      return transport.body({
        path: "/api/search",
        query: { q: query, limit, cursor },
        headers: { "X-Session-Id": sessionId },
        repeatable: true,
        signal,
      });
    },
  };
}

const path = (id: string): string => `/api/sessions/${encodeURIComponent(id)}`;

function reading(transport: Transport) {
  return {
    getSession(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ path: path(id), repeatable: true, signal });
    },

    /**
     * Lists stored messages, oldest first: at most `limit` (1,000) or 1 MiB after the message with the id
     * `after`. An empty page is the end. `include` adds the model's reasoning.
     */
    listMessages(
      id: string,
      options: Abortable & {
        readonly after?: string | undefined;
        readonly limit?: number | undefined;
        readonly include?: "reasoning" | undefined;
      } = {},
    ): Promise<PersistedMessage[]> {
      const { after, limit, include, signal } = options;
      return transport.body({
        path: `${path(id)}/messages`,
        query: { after, limit, include },
        repeatable: true,
        signal,
      });
    },
  };
}

export interface FeedbackOptions extends Abortable {
  /** -1: bad; 1: good. */
  readonly score: -1 | 0 | 1;
  readonly comment?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

function changing(transport: Transport) {
  return {
    /** 1 to 200 characters. Generated titles never overwrite it. */
    renameThread(id: string, title: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "PATCH", path: path(id), body: { title }, repeatable: true, signal });
    },

    /** Merges `patch` into the metadata (RFC 7396): `null` removes a member, or all metadata. At most 4 KiB as JSON. */
    changeMetadata(id: string, patch: Metadata | null, { signal }: Abortable = {}): Promise<Thread> {
      const body = { metadata: patch };
      return transport.body({ method: "PATCH", path: path(id), body, repeatable: true, signal });
    },

    /**
     * Replaces the feedback on an answer, or removes it: a score of 0 without comment and tags. Returns the feedback;
     * `null` for none.
     */
    async giveFeedback(
      id: string,
      messageId: string,
      { signal, ...feedback }: FeedbackOptions,
    ): Promise<Feedback | null> {
      const where = `${path(id)}/messages/${encodeURIComponent(messageId)}/feedback`;
      const request = { method: "PUT", path: where, body: feedback, repeatable: true, signal } as const;
      return (await transport.body<{ readonly feedback: Feedback | null }>(request)).feedback;
    },

    /** Lists show pinned threads first. */
    pinThread(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "PUT", path: `${path(id)}/pin`, repeatable: true, signal });
    },

    unpinThread(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "DELETE", path: `${path(id)}/pin`, repeatable: true, signal });
    },

    /** Marks the thread with `is_archived`, for lists with `archived`. */
    archiveThread(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "POST", path: `${path(id)}/archive`, repeatable: true, signal });
    },

    unarchiveThread(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "POST", path: `${path(id)}/unarchive`, repeatable: true, signal });
    },

    /**
     * Copies the thread's finished turns into a new one, which it returns; with `through`, the copy ends with that
     * message's turn. `newId` is the copy's id; pass the same one to try again after a failure.
     */
    forkThread(
      id: string,
      {
        newId = randomId(),
        through,
        signal,
      }: Abortable & { readonly newId?: string | undefined; readonly through?: string | undefined } = {},
    ): Promise<Thread> {
      const body = { session_id: newId, through_message_id: through };
      return transport.body({ method: "POST", path: `${path(id)}/fork`, body, signal });
    },

    /** Makes the signed-in user the owner of an idle thread without one, where its App permits it. */
    claimThread(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "POST", path: `${path(id)}/claim`, repeatable: true, signal });
    },

    /**
     * Deletes the session with its messages, permanently. Not retried: by then the id may belong to a new
     * incarnation.
     */
    async deleteThread(id: string, { signal }: Abortable = {}): Promise<void> {
      await transport.request({ method: "DELETE", path: path(id), isResponseEmpty: true, signal });
    },
  };
}
