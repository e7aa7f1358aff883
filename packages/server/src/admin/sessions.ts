// Session search for operators. Bounds how many sessions one request scans.

import {
  SessionIdOrHandle,
  type AdminSession,
  type AdminSessionDetail,
  type AdminSessionPage,
} from "@colloquy/protocol";
import {
  byUse,
  type AdminStore,
  type SeenSession,
  type UsePlace,
} from "@colloquy/engine/internal/core/ports/driven/admin-store";
import type { SessionHandles } from "@colloquy/engine/internal/core/session-handles";
import { InvalidRequest, NotFound } from "@colloquy/engine/internal/core/errors";
import type { AdminSessionQuery, TurnPage } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import { sessionStatus, whyStuck, type HealthLimits } from "@colloquy/engine/internal/core/turn-health";
import { toAdminSession, toAdminSummary, toAdminTurn } from "./wire.ts";

/** Maximum sessions that one request scans in order of use; the next page continues after them. */
export const MAX_SCANNED = 5_000;
/** Maximum sessions with an open turn that one request scans. */
export const MAX_OPEN = 10_000;
/** Sessions per read, so that other requests to the store can run in between. */
const BATCH_SIZE = 500;

export interface AdminSessionsOptions {
  readonly store: Pick<AdminStore, "now" | "used" | "open" | "find" | "turns" | "summaries">;
  readonly limits: HealthLimits;
  readonly handles: SessionHandles;
}

interface Page {
  readonly sessions: readonly SeenSession[];
  readonly next: UsePlace | null;
  readonly isComplete: boolean;
}

type Stored = AdminSessionsOptions["store"];
type Matches = (session: SeenSession) => boolean;

export async function listSessions(
  options: AdminSessionsOptions,
  query: AdminSessionQuery,
): Promise<AdminSessionPage> {
  const { store, limits, handles } = options;
  const after = query.cursor === null ? null : parseCursor(query.cursor);
  const at = await store.now();
  const named = SessionIdOrHandle.safeParse(query.search).data;
  const id = named === undefined ? null : handles.idOf(named);
  const matches = matcherOf(query, id, at, limits);
  const { sessions, next, isComplete } =
    id === null ? await pageOf(store, query, after, matches) : await pageById(store, id, after, matches);
  return {
    sessions: sessions.map((session) => toAdminSession(session, at, options)),
    next_cursor: next === null ? null : formatCursor(next),
    is_complete: isComplete,
  };
}

export async function seeSession(options: AdminSessionsOptions, id: string): Promise<AdminSession> {
  const { store } = options;
  const [at, session] = await Promise.all([store.now(), find(store, id)]);
  return toAdminSession(session, at, options);
}

export async function seeSessionWithTurns(
  options: AdminSessionsOptions,
  id: string,
  { before, limit }: TurnPage,
): Promise<Omit<AdminSessionDetail, "pending_actions">> {
  const { store, limits } = options;
  const [at, session, read, summaries] = await Promise.all([
    store.now(),
    find(store, id),
    store.turns(id, before, limit + 1),
    store.summaries(id),
  ]);
  if (read === null) throw unknownSession();
  const turns = read.slice(0, limit);
  const first = session.turn?.turn.number;
  const stuck = (seen: (typeof read)[number]): string | null =>
    seen.turn.number === first ? whyStuck(seen, session.updatedAt, at, limits) : null;
  return {
    session: toAdminSession(session, at, options),
    turns: turns.map((seen) => toAdminTurn(seen, at, stuck(seen))),
    summaries: summaries.map(toAdminSummary),
    next_before: read.length > limit ? (turns.at(-1)?.turn.number ?? null) : null,
  };
}

async function find(store: Stored, id: string): Promise<SeenSession> {
  const session = await store.find(id);
  if (session === null) throw unknownSession();
  return session;
}

async function pageOf(
  store: Stored,
  query: AdminSessionQuery,
  after: UsePlace | null,
  matches: Matches,
): Promise<Page> {
  const { status } = query;
  return status === "processing" || status === "waiting" || status === "stuck"
    ? await pageOfOpen(store, query.limit, after, matches)
    : await pageByUse(store, query, after, matches);
}

async function pageById(store: Stored, id: string, after: UsePlace | null, matches: Matches): Promise<Page> {
  const found = after === null ? await store.find(id) : null;
  const sessions = found !== null && matches(found) ? [found] : [];
  return { sessions, next: null, isComplete: true };
}

async function pageOfOpen(
  store: Stored,
  limit: number,
  after: UsePlace | null,
  matches: Matches,
): Promise<Page> {
  const found: SeenSession[] = [];
  let below: number | null = null;
  let scanned = 0;
  for (let isEnd = false; !isEnd && scanned < MAX_OPEN; ) {
    const batch: readonly SeenSession[] = await store.open({ below, limit: BATCH_SIZE });
    found.push(...batch.filter(matches));
    scanned += batch.length;
    below = batch.at(-1)?.key ?? null;
    isEnd = batch.length < BATCH_SIZE;
  }
  const isComplete = scanned < MAX_OPEN || (await store.open({ below, limit: 1 })).length === 0;
  const behind = found.toSorted(byUse).filter((session) => after === null || byUse(after, session) < 0);
  const sessions = behind.slice(0, limit);
  const next = behind.length > limit ? (sessions.at(-1) ?? null) : null;
  return { sessions, next, isComplete };
}

async function pageByUse(
  store: Stored,
  { app, limit, status, search }: AdminSessionQuery,
  from: UsePlace | null,
  matches: Matches,
) {
  const sessions: SeenSession[] = [];
  const batchSize = status === null && search === null ? limit + 1 : BATCH_SIZE;
  let after = from;
  for (let scanned = 0; scanned < MAX_SCANNED; ) {
    const batch = await store.used({ app, after, limit: batchSize });
    for (const session of batch) {
      if (sessions.length === limit) return { sessions, next: after, isComplete: true };
      after = session;
      scanned += 1;
      if (matches(session)) sessions.push(session);
    }
    if (batch.length < batchSize) return { sessions, next: null, isComplete: true };
  }
  return { sessions, next: after, isComplete: true };
}

/** `id` is that of the session that `search` names, if any. */
function matcherOf(
  { status, app, search }: AdminSessionQuery,
  id: string | null,
  at: number,
  limits: HealthLimits,
): Matches {
  const words = search?.toLowerCase() ?? null;
  return (session) =>
    (app === null || session.app === app) &&
    (words === null ||
      session.title.toLowerCase().includes(words) ||
      session.publicKey?.toLowerCase() === words ||
      session.id === id) &&
    (status === null || sessionStatus(session, at, limits) === status);
}

function formatCursor({ usedAt, key }: UsePlace): string {
  return `${usedAt.toString(36)}-${key.toString(36)}`;
}

function parseCursor(cursor: string): UsePlace {
  const match = /^([0-9a-z]{1,10})-([0-9a-z]{1,10})$/.exec(cursor);
  if (match === null) {
    throw new InvalidRequest("invalid_cursor", "`cursor` must be `next_cursor` of an earlier page.");
  }
  return { usedAt: Number.parseInt(match[1] ?? "", 36), key: Number.parseInt(match[2] ?? "", 36) };
}

function unknownSession(): NotFound {
  return new NotFound(
    "session_not_found",
    "There is no session with this id. It may have been deleted or have expired.",
  );
}
