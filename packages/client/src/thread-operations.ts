// Sessions as threads: create, list, rename, pin, fork, claim, delete.

import { randomId } from "./random-id.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { PersistedMessage, Thread } from "./wire.ts";

export interface ThreadPage {
  readonly threads: Thread[];
  /** Cursor of the next page; `null` on the last one. */
  readonly next: string | null;
}

export type ThreadOperations = ReturnType<typeof listing> &
  ReturnType<typeof reading> &
  ReturnType<typeof changing>;

export function threadOperations(transport: Transport): ThreadOperations {
  return { ...listing(transport), ...reading(transport), ...changing(transport) };
}

function listing(transport: Transport) {
  // Listing needs a session id and creates the session if it does not exist: use one id for all lists of this
  // client.
  const asking = randomId();
  return {
    /** Creates the session and binds the wallet if none is bound. Idempotent. */
    createSession(id: string, options: Abortable & { readonly publicKey?: string } = {}): Promise<Thread> {
      const { publicKey, signal } = options;
      return transport.body({
        method: "POST",
        path: "/api/sessions",
        headers: { "X-Session-Id": id },
        body: { public_key: publicKey },
        repeatable: true,
        signal,
      });
    },

    /**
     * Lists the threads of a wallet, or without one those of the signed-in user, most recently active first: all, or pages of `limit` (1
     * to 200).
     */
    async listThreads(
      publicKey: string | undefined,
      options: Abortable & {
        readonly limit?: number;
        readonly cursor?: string;
        /** The current session; one without messages when absent. */
        readonly sessionId?: string;
      } = {},
    ): Promise<ThreadPage> {
      const { limit, cursor, sessionId = asking, signal } = options;
      const answer = await transport.request<Thread[]>({
        path: "/api/sessions",
        query: { public_key: publicKey, limit, cursor },
        headers: { "X-Session-Id": sessionId },
        repeatable: true,
        signal,
      });
      const next = /[?&]cursor=([^&>]+)[^>]*>;\s*rel="next"/.exec(answer?.headers.get("link") ?? "")?.[1];
      return { threads: answer?.body ?? [], next: next === undefined ? null : decodeURIComponent(next) };
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
        readonly after?: string;
        readonly limit?: number;
        readonly include?: "reasoning";
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

function changing(transport: Transport) {
  return {
    /** 1 to 200 characters. Generated titles never overwrite it. */
    renameThread(id: string, title: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "PATCH", path: path(id), body: { title }, repeatable: true, signal });
    },

    /** Lists show pinned threads first. */
    pinThread(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "PUT", path: `${path(id)}/pin`, repeatable: true, signal });
    },

    unpinThread(id: string, { signal }: Abortable = {}): Promise<Thread> {
      return transport.body({ method: "DELETE", path: `${path(id)}/pin`, repeatable: true, signal });
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
      }: Abortable & { readonly newId?: string; readonly through?: string } = {},
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
      await transport.request({ method: "DELETE", path: path(id), signal });
    },
  };
}
