// Data sources of `colloquy sessions`: the store of this configuration, or a remote service with an admin key.

import type { AdminClient } from "@colloquy/client/admin";
import type {
  AdminSession,
  AdminSessionPage,
  AdminSessionStatus,
  Message,
  PersistedMessage,
} from "@colloquy/protocol";
import type { LocalStore } from "../../wiring/local-store.ts";
import { toPersistedMessage, toWireMessage } from "@colloquy/engine/internal/core/message";
import type { AdminSessionQuery } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import type { HealthLimits } from "@colloquy/engine/internal/core/turn-health";
import { isSessionNotFound } from "../command.ts";
import { messageOfRecord } from "../message-of-record.ts";

/** A session of the admin API, without its turn. */
export type ListedSession = Omit<AdminSession, "turn">;

export interface SessionQuery {
  readonly app: string | null;
  readonly status: AdminSessionStatus | null;
  /** Maximum number of sessions. */
  readonly limit: number;
}

export interface ShownSession {
  readonly session: ListedSession;
  readonly records: readonly PersistedMessage[];
  readonly messages: readonly Message[];
}

export interface SessionSource {
  /** Returns sessions, most recently used first. */
  list(query: SessionQuery): Promise<readonly ListedSession[]>;
  /** Returns `null` if the session does not exist. */
  show(idOrHandle: string): Promise<ShownSession | null>;
  /** Returns true if the session existed. */
  remove(id: string): Promise<boolean>;
}

const PAGE = 200;
const MESSAGES = 1_000;

export function storedSessions(local: LocalStore, limits: HealthLimits): SessionSource {
  const { store, audit, actor, handles } = local;
  const sessions = local.sessions(limits);
  return {
    list: (query) => listPages(query, sessions.list),
    async show(idOrHandle) {
      const session = await sessions.find(idOrHandle);
      if (session === null) return null;
      const id = (await handles()).idOf(idOrHandle);
      const all = [];
      for (let after: string | null = null; ; ) {
        const page = await store.sessions.messages(id, after, MESSAGES, null);
        if (page === null || typeof page === "string") return null;
        all.push(...page);
        // A portion may be short because its messages are long.
        const last = page.at(-1);
        if (last === undefined) break;
        after = last.id;
      }
      const records = all.map((message) => toPersistedMessage(session.session_id, message));
      const read = { actor, app: session.app, target: session.session_id, details: {} };
      await audit.note({ action: "session_read", ...read });
      return { session: withoutTurn(session), records, messages: all.map(toWireMessage) };
    },
    remove: async (id) => {
      const target = { session: id, birth: null, load: false, access: null };
      return (await store.execute({ kind: "delete", target, input: actor })) !== null;
    },
  };
}

export function servedSessions(client: AdminClient): SessionSource {
  return {
    list: (query) =>
      listPages(query, ({ app, status, cursor, limit }) =>
        client.listSessions({
          limit,
          ...(app !== null && { app }),
          ...(status !== null && { status }),
          ...(cursor !== null && { cursor }),
        }),
      ),
    show: (id) => nullIfNotFound(() => showServed(client, id)),
    async remove(id) {
      return (await nullIfNotFound(async () => [await client.deleteSession(id)])) !== null;
    },
  };
}

async function showServed(client: AdminClient, id: string): Promise<ShownSession> {
  const { session } = await client.getSession(id, { limit: 1 });
  const records: PersistedMessage[] = [];
  for (let page = await client.listMessages(id); ; ) {
    records.push(...page);
    const after = page.at(-1)?.id;
    if (after === undefined) break;
    page = await client.listMessages(id, { after });
  }
  return { session: withoutTurn(session), records, messages: records.map(messageOfRecord) };
}

/** Returns `null` if the service reports that the session does not exist. */
export async function nullIfNotFound<Result>(ask: () => Promise<Result>): Promise<Result | null> {
  try {
    return await ask();
  } catch (error) {
    if (isSessionNotFound(error)) return null;
    throw error;
  }
}

/** Reads pages until there are `limit` sessions. */
async function listPages(
  { app, status, limit }: SessionQuery,
  read: (query: AdminSessionQuery) => Promise<AdminSessionPage>,
): Promise<readonly ListedSession[]> {
  const found: ListedSession[] = [];
  let cursor: string | null = null;
  do {
    const page = await read({ app, status, search: null, cursor, limit: Math.min(PAGE, limit) });
    found.push(...page.sessions.map(withoutTurn));
    cursor = page.next_cursor;
  } while (cursor !== null && found.length < limit);
  return found.slice(0, limit);
}

function withoutTurn({ turn: _, ...session }: AdminSession): ListedSession {
  return session;
}
