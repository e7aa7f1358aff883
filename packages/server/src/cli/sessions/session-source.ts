// Where `colloquy sessions` finds sessions: in the store of this configuration, or at a service that takes the administrator's key.

import type { AdminClient } from "@colloquy/client/admin";
import type { AdminSession, AdminSessionStatus, Message, PersistedMessage } from "@colloquy/protocol";
import type { Administration } from "../../administration.ts";
import { toPersistedMessage, toWireMessage } from "../../core/message.ts";
import type { SeenSession, UsePlace } from "../../core/ports/admin-store.ts";
import { type HealthLimits, sessionStatus } from "../../core/turn-health.ts";
import { saysAbsent } from "../service-url.ts";

/** As the admin API shows it, without its turn. */
export type ListedSession = Omit<AdminSession, "turn">;

export interface SessionQuery {
  readonly app: string | null;
  readonly status: AdminSessionStatus | null;
  /** Sessions at most. */
  readonly limit: number;
}

export interface ShownSession {
  readonly session: ListedSession;
  readonly records: readonly PersistedMessage[];
  readonly messages: readonly Message[];
}

export interface SessionSource {
  /** Newest use first. */
  list(query: SessionQuery): Promise<readonly ListedSession[]>;
  /** `null` when there is no such session. */
  show(id: string): Promise<ShownSession | null>;
  /** Whether there was one. */
  remove(id: string): Promise<boolean>;
}

const PAGE = 200;
const MESSAGES = 1_000;

export function storedSessions({ store }: Administration, limits: HealthLimits): SessionSource {
  return {
    async list({ app, status, limit }) {
      const at = await store.admin.now();
      const found: ListedSession[] = [];
      let after: UsePlace | null = null;
      while (found.length < limit) {
        const page: readonly SeenSession[] = await store.admin.used({ app, after, limit: PAGE });
        const sessions = page.map((seen) => listed(seen, at, limits));
        found.push(...sessions.filter((session) => status === null || session.status === status));
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) break;
        after = { usedAt: last.usedAt, key: last.key };
      }
      return found.slice(0, limit);
    },
    async show(id) {
      const [seen, at] = [await store.admin.find(id), await store.admin.now()];
      if (seen === null) return null;
      const all = [];
      for (let after: string | null = null; ; ) {
        const page = await store.sessions.messages(id, after, MESSAGES);
        if (page === null || page === "other_app") return null;
        all.push(...page);
        if (page.length < MESSAGES) break;
        after = page.at(-1)?.id ?? null;
      }
      const records = all.map((message) => toPersistedMessage(id, message));
      return { session: listed(seen, at, limits), records, messages: all.map(toWireMessage) };
    },
    remove: async (id) => (await store.sessions.remove(id)) !== null,
  };
}

export function servedSessions(client: AdminClient): SessionSource {
  return {
    async list({ app, status, limit }) {
      const found: ListedSession[] = [];
      let cursor: string | null = null;
      do {
        const page = await client.listSessions({
          limit: Math.min(PAGE, limit),
          ...(app !== null && { app }),
          ...(status !== null && { status }),
          ...(cursor !== null && { cursor }),
        });
        found.push(...page.sessions.map(withoutTurn));
        cursor = page.next_cursor;
      } while (cursor !== null && found.length < limit);
      return found.slice(0, limit);
    },
    show: (id) => unlessAbsent(() => showServed(client, id)),
    async remove(id) {
      return (await unlessAbsent(async () => [await client.deleteSession(id)])) !== null;
    },
  };
}

async function showServed(client: AdminClient, id: string): Promise<ShownSession> {
  const { session } = await client.getSession(id, { limit: 1 });
  const records: PersistedMessage[] = [];
  for (let page = await client.listMessages(id); ; ) {
    records.push(...page);
    const after = page.at(-1)?.id;
    if (page.length < MESSAGES || after === undefined) break;
    page = await client.listMessages(id, { after });
  }
  return { session: withoutTurn(session), records, messages: records.map(asMessage) };
}

/** `null` when the service says that there is no such session. */
export async function unlessAbsent<Result>(ask: () => Promise<Result>): Promise<Result | null> {
  try {
    return await ask();
  } catch (error) {
    if (saysAbsent(error)) return null;
    throw error;
  }
}

function listed(seen: SeenSession, at: number, limits: HealthLimits): ListedSession {
  return {
    session_id: seen.id,
    title: seen.title,
    app: seen.app,
    model: seen.model,
    public_key: seen.publicKey,
    status: sessionStatus(seen, at, limits),
    created_at: new Date(seen.createdAt).toISOString(),
    updated_at: new Date(seen.updatedAt).toISOString(),
    used_at: new Date(seen.usedAt).toISOString(),
    message_count: seen.messageCount,
    turn_count: seen.turnCount,
  };
}

function withoutTurn({ turn: _, ...session }: AdminSession): ListedSession {
  return session;
}

/** A record does not say how its message ended. */
function asMessage({ id, role, content, created_at, tool_calls, tool_results }: PersistedMessage): Message {
  return {
    id,
    sender: role === "user" ? "user" : "agent",
    content,
    created_at,
    status: "complete",
    ...(tool_calls !== null && { tool_calls }),
    ...(tool_results !== null && { tool_results }),
  };
}
