// Operations on the sessions and turns of all Apps, for operators.

import type { AdminSession, AdminSessionDetail, AdminSessionPage, AdminSessionStatus } from "./admin-wire.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { Decision } from "./conversation-operations.ts";
import type { Action, PersistedMessage, Thread } from "./wire.ts";

export type AdminSessions = ReturnType<typeof reads> & ReturnType<typeof changes>;

const path = (id: string): string => `/api/admin/sessions/${encodeURIComponent(id)}`;

export function adminSessions(transport: Transport): AdminSessions {
  return { ...reads(transport), ...changes(transport) };
}

function reads(transport: Transport) {
  return {
    /**
     * Most recently used first. A page may have fewer than `limit` items (1 to 200; 50 when absent), or none,
     * while `next_cursor` says that there are more.
     */
    listSessions(
      options: Abortable & {
        readonly status?: AdminSessionStatus | undefined;
        readonly app?: string | undefined;
        /** Text in titles, ignoring case; or a full session id or wallet address. */
        readonly search?: string | undefined;
        readonly limit?: number | undefined;
        /** `next_cursor` of the previous page, requested with the same filter. */
        readonly cursor?: string | undefined;
      } = {},
    ): Promise<AdminSessionPage> {
      const { signal, status, app, search, limit, cursor } = options;
      const query = { status, app, search, limit, cursor };
      return transport.body({ path: "/api/admin/sessions", query, repeatable: true, signal });
    },

    /**
     * Returns the session with its newest turns: `limit` of them (1 to 200; 50 when absent), those before
     * turn number `before`.
     */
    getSession(
      id: string,
      options: Abortable & { readonly limit?: number | undefined; readonly before?: number | undefined } = {},
    ): Promise<AdminSessionDetail> {
      const { signal, limit, before } = options;
      return transport.body({ path: path(id), query: { limit, before }, repeatable: true, signal });
    },

    /** Lists stored messages, oldest first: at most `limit` (1,000) after the message with the id `after`. */
    listMessages(
      id: string,
      options: Abortable & { readonly after?: string | undefined; readonly limit?: number | undefined } = {},
    ): Promise<PersistedMessage[]> {
      const { signal, after, limit } = options;
      return transport.body({
        path: `${path(id)}/messages`,
        query: { after, limit },
        repeatable: true,
        signal,
      });
    },
  };
}

function changes(transport: Transport) {
  return {
    /**
     * Makes the user with this subject (`sub`) at this issuer (`iss`) the owner; `null` removes the owner.
     * Ends event streams of others.
     */
    transferSession(
      id: string,
      user: { readonly issuer: string; readonly subject: string } | null,
      { signal }: Abortable = {},
    ): Promise<Thread> {
      return transport.body({
        method: "PUT",
        path: `${path(id)}/owner`,
        body: { user },
        repeatable: true,
        signal,
      });
    },

    /** Stops the running turn and cancels the queued ones. */
    interrupt(id: string, { signal }: Abortable = {}): Promise<AdminSession> {
      return transport.body({ method: "POST", path: `${path(id)}/interrupt`, signal });
    },

    /** Decides a pending action on behalf of the user. */
    decideAction(
      id: string,
      action: string,
      decision: Decision,
      { signal }: Abortable = {},
    ): Promise<Action> {
      return transport.body({
        method: "POST",
        path: `${path(id)}/actions/${encodeURIComponent(action)}`,
        body: decision,
        repeatable: true,
        signal,
      });
    },

    /** Deletes the session with its messages, permanently. */
    async deleteSession(id: string, { signal }: Abortable = {}): Promise<void> {
      await transport.request({ method: "DELETE", path: path(id), signal });
    },
  };
}
