// Implements `Store` over in-memory documents for a single process. All data must fit in memory, and every
// list is a full scan.

import { randomUUID } from "node:crypto";
import { type AuditEntry, type AuditRecord, repetitionKey } from "../../core/audit.ts";
import { IDEMPOTENCY_KEPT_MS } from "../../core/commands/chat.ts";
import { claimCommand } from "../../core/commands/claim-turn.ts";
import {
  birthOf,
  decideCommand,
  type Decision,
  loadsSession,
  needsOf,
  sessionOf,
} from "../../core/commands/decide.ts";
import { SessionDraft } from "../../core/commands/draft.ts";
import { FILE_GRACE_MS, type FileRecord } from "../../core/file.ts";
import { expireCommand } from "../../core/commands/expire-actions.ts";
import type { Selection, SessionCommand } from "../../core/commands/index.ts";
import { mayWrite, turnThatRuns } from "../../core/commands/command.ts";
import type { MessageRecord } from "../../core/message.ts";
import { byUse, type SeenSession, type SeenTurn } from "../../core/ports/driven/admin-store.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { SealedSecret } from "../../core/ports/driven/secret-store.ts";
import {
  type Committed,
  MESSAGE_PORTION_BYTES,
  type SessionStore,
  type SessionVersion,
  type ThreadQuery,
} from "../../core/ports/driven/session-store.ts";
import type {
  FeedbackEntry,
  FeedbackCursor,
  AppKeyRecord,
  PastTurn,
  Store,
  TurnStore,
} from "../../core/ports/driven/store.ts";
import type { FoundPart, SearchedSessions, SearchQuery } from "../../core/ports/driven/search-store.ts";
import { partsOf } from "../../core/search-text.ts";
import { hiddenFrom, type SessionAccess } from "../../core/session-access.ts";
import { appOf, DEFAULT_APP, DELETED_MS, newSession } from "../../core/session.ts";
import { providerOf, ranUnder, reasoningIn, type TurnRecord } from "../../core/turn.ts";
import { addressOf } from "../../core/wallet-id.ts";
import { oldestFirst } from "../actions.ts";
import { MESSAGES, retentionOf } from "../columns.ts";
import { eventPage, listedFor, pageEnd } from "../pages.ts";
import { Documents, type DocumentStorage, type View } from "./documents.ts";
import {
  factsOf,
  loadedOf,
  newDocument,
  openTurnsOf,
  pendingOf,
  type SessionDocument,
  streamedOf,
  withDraft,
  withFloor,
} from "./session-document.ts";

/** Document types by kind. Sessions are stored by id, not by key. */
interface Kinds {
  readonly session: SessionDocument;
  /** Time at which the tombstone of a deleted session expires, in milliseconds since the Unix epoch. */
  readonly deleted: number;
  readonly key: AppKeyRecord;
  /** Expiry of a revoked token, in milliseconds since the Unix epoch. */
  readonly token: number;
  readonly secret: SealedSecret;
  readonly audit: AuditRecord & { readonly once: string | null };
  /** Salt of a user's pseudonym in the audit trail. */
  readonly salt: string;
  /** Expiry of a duty's lease, in milliseconds since the Unix epoch. */
  readonly duty: number;
  /** Last value issued by a sequence. */
  readonly sequence: number;
  /** Bytes to remove when they are due, unless a file has them. */
  readonly blob: {
    readonly id: string;
    readonly blob: string;
    readonly dueAt: number;
    /** Absent if no room is reserved for the bytes. */
    readonly reserved?: Reservation;
  };
  /** Singletons: the key for session handles and the id of the active master key. */
  readonly value: string;
}

/** Room for bytes that are being stored, for the quotas of an App and of an owner, or of a session without one. */
interface Reservation {
  readonly app: string;
  readonly holder: string;
  readonly bytes: number;
  readonly number: number;
}

type Read = View<Kinds>;

export interface DocumentStoreOptions {
  readonly storage: DocumentStorage;
  /** Clock for all timestamps. */
  readonly clock: Pick<Clock, "now">;
  /** See `SqliteStoreOptions.isAlone`. Defaults to `false`. */
  readonly isAlone?: boolean;
}

/** Opens a store that persists its documents in `storage`. */
export async function openDocumentStore({
  storage,
  clock,
  isAlone = false,
}: DocumentStoreOptions): Promise<Store> {
  const documents = await Documents.open<Kinds>(storage);
  const run = <Result>(work: (view: Read, at: number) => Result): Promise<Result> => {
    const at = clock.now();
    return documents.run((view) => work(view, at));
  };
  return {
    execute: (command: SessionCommand) =>
      run((view, at) => execute(view, at, command, isAlone)) as Promise<never>,
    executeEach: (selection: Selection) =>
      run((view, at) =>
        selected(view, at, selection).flatMap((command) => {
          const decided = decide(view, at, command, isAlone);
          return decided?.disposition === "commit" ? [committed(view, decided, false)] : [];
        }),
      ) as Promise<never>,
    ...sessionPorts(run, isAlone),
    ...otherPorts(run),
    probe: () => run((view) => view.set("sequence", "probe", 1 + (view.get("sequence", "probe") ?? 0))),
    purge: () => Promise.resolve(true),
    close: () => documents.close(),
  };
}

type Run = <Result>(work: (view: Read, at: number) => Result) => Promise<Result>;

function take(view: Read, sequence: string): number {
  const value = 1 + (view.get("sequence", sequence) ?? 0);
  view.set("sequence", sequence, value);
  return value;
}

function sessionsIn(view: Read): SessionDocument[] {
  return Array.from(view.entries("session"), ([, document]) => document);
}

function feedbackOf({ session, messages }: SessionDocument): readonly FeedbackEntry[] {
  const common = { sessionId: session.spelling, sessionKey: session.key, app: appOf(session) };
  return messages.flatMap(({ id: messageId, position, turn, feedback }) =>
    feedback === undefined ? [] : [{ ...common, messageId, position, turn, ...feedback }],
  );
}

function newestFeedbackFirst(left: FeedbackCursor, right: FeedbackCursor): number {
  return right.at - left.at || right.sessionKey - left.sessionKey || right.position - left.position;
}

function change(view: Read, document: SessionDocument): void {
  view.set("session", document.session.id, document);
}

function filesIn(view: Read): FileRecord[] {
  return sessionsIn(view).flatMap(({ files = [] }) => files);
}

/** Removes a session. The bytes of its files are removed unless others share them. */
function removeSession(view: Read, id: string): void {
  noteUnused(view, view.get("session", id)?.files ?? []);
  view.set("session", id, null);
}

function noteUnused(view: Read, removed: readonly FileRecord[]): void {
  for (const { blob } of removed) {
    const id = randomUUID();
    view.set("blob", id, { id, blob, dueAt: 0 });
  }
}

// Commands

interface Decided extends Decision {
  readonly before: SessionDocument | null;
  readonly document: SessionDocument;
  readonly draft: SessionDraft;
}

function decide(view: Read, at: number, command: SessionCommand, isAlone: boolean): Decided | null {
  const id = sessionOf(command);
  const birth = birthOf(command);
  const before = view.get("session", id);
  const stays = before === null && birth?.unlessDeleted === true && (view.get("deleted", id) ?? 0) > at;
  if (before === null && (birth === null || stays)) return null;
  const document =
    before ?? (birth === null ? null : newDocument(newSession(take(view, "key"), id, birth, at), at));
  if (document === null) return null;
  const needs = needsOf(command);
  const draft = new SessionDraft(document.session, at, () => take(view, "epoch"));
  const origin = needs.origin === undefined ? null : view.get("session", needs.origin);
  const leasesAt = isAlone ? Number.NEGATIVE_INFINITY : at;
  const decision = decideCommand(command, draft, factsOf(document, needs, origin), leasesAt);
  return decision === null ? null : { ...decision, before, document, draft };
}

function execute(
  view: Read,
  at: number,
  command: SessionCommand,
  isAlone: boolean,
): Committed<unknown> | null {
  const load = loadsSession(command);
  const decided = decide(view, at, command, isAlone);
  if (decided === null) return null;
  if (decided.disposition === "commit") return committed(view, decided, load);
  const { outcome, before, document } = decided;
  const loaded = load && before !== null && decided.disposition === "void" ? loadedOf(before) : null;
  return { outcome, session: document.session, created: false, events: [], audited: [], loaded };
}

/** Applies the draft to the view and returns the command's result. */
function committed(
  view: Read,
  { outcome, before, document, draft }: Decided,
  load: boolean,
): Committed<unknown> {
  const { session, events, audited, at } = draft;
  for (const entry of audited) writeAudit(view, at, entry);
  const answer = { outcome, session, created: before === null, events, audited };
  if (draft.isRemoved) {
    removeSession(view, session.id);
    view.set("deleted", session.id, at + DELETED_MS);
    return { ...answer, loaded: null };
  }
  shareBytes(view, draft);
  const after = withDraft(document, draft);
  change(view, after);
  return { ...answer, session: after.session, loaded: load ? loadedOf(after) : null };
}

/**
 * A file with the bytes of another one of its App shares them: its own stay among the unused ones. Either way, the room
 * reserved for them is released.
 */
function shareBytes(view: Read, { addedFiles }: SessionDraft): void {
  if (addedFiles.length === 0) return;
  for (const file of addedFiles) {
    const expected = view.get("blob", file.blob);
    if (expected === null) continue;
    const { id, blob, dueAt } = expected;
    view.set("blob", id, { id, blob, dueAt });
  }
  const stored = filesIn(view);
  for (const [index, file] of addedFiles.entries()) {
    const same = stored.find(({ app, sha256 }) => app === file.app && sha256 === file.sha256);
    if (same !== undefined) addedFiles[index] = { ...file, blob: same.blob };
  }
}

function selected(view: Read, at: number, selection: Selection): readonly SessionCommand[] {
  if (selection.kind === "expireActions")
    return dueSessions(view, at)
      .slice(0, selection.limit)
      .map((id) => expireCommand(id));
  const runnable = sessionsIn(view)
    .filter(({ session }) => !selection.fullProviders.includes(providerOf(session.model)))
    .flatMap(({ session, turns }) => turns.filter((turn) => turn.runnable).map((turn) => ({ session, turn })))
    .toSorted(
      (left, right) =>
        left.turn.enqueuedAt - right.turn.enqueuedAt ||
        left.session.key - right.session.key ||
        left.turn.number - right.turn.number,
    );
  return selection.agentMessageIds.flatMap((agentMessageId, index) => {
    const found = runnable[index];
    return found === undefined
      ? []
      : [claimCommand(selection, found.session.id, found.turn.number, agentMessageId)];
  });
}

/** Returns sessions with expired actions, expired claims or due reminders, most overdue first. */
function dueSessions(view: Read, at: number): readonly string[] {
  return sessionsIn(view)
    .map((document) => {
      const times = pendingOf(document).flatMap((action) => [
        action.expiresAt,
        ...(action.remindAt === null ? [] : [action.remindAt]),
        ...(action.claim === null ? [] : [action.claim.expiresAt]),
      ]);
      return { session: document.session, due: Math.min(...times) };
    })
    .filter(({ due }) => due <= at)
    .toSorted((left, right) => left.due - right.due || left.session.key - right.session.key)
    .map(({ session }) => session.id);
}

function writeAudit(view: Read, at: number, entry: AuditEntry | null): void {
  if (entry === null) return;
  const once = repetitionKey(entry, at);
  if (once !== null && view.entries("audit").some(([, other]) => other.once === once)) return;
  const { action, actor, app, target, details } = entry;
  const { kind, id: actorId, name, address, requestId } = actor;
  const id = `${String(take(view, "audit")).padStart(16, "0")}-${randomUUID()}`;
  view.set("audit", id, {
    id,
    at,
    action,
    actor: { kind, id: actorId, name, address, requestId },
    app,
    target,
    details,
    once,
  });
}

// Sessions, turns, actions and events

function sessionPorts(run: Run, isAlone: boolean): Pick<Store, "actions" | "events" | "sessions" | "turns"> {
  return {
    sessions: sessionStore(run),
    turns: turnStore(run, isAlone),
    actions: {
      list: (sessionId, limit) =>
        run((view) => {
          const found = view.get("session", sessionId);
          if (found === null) return null;
          const ended = found.actions.filter(({ status }) => status !== "pending");
          const shown = new Set([...pendingOf(found), ...(limit === 0 ? [] : ended.slice(-limit))]);
          return found.actions.filter((action) => shown.has(action));
        }),
      callerOf: (sessionId, actionId) =>
        run((view) => {
          const found = view.get("session", sessionId);
          const action = found?.actions.find(({ id }) => id === actionId);
          const turn = found?.turns.find(({ number }) => number === action?.turn);
          return found === null || turn === undefined
            ? null
            : { app: appOf(found.session), clientId: turn.clientId };
        }),
      forApprover: ({ rules, owner, after, limit }) =>
        run((view, at) =>
          sessionsIn(view)
            .flatMap((document) =>
              pendingOf(document).filter(({ approvers, expiresAt, turn: number }) => {
                if (approvers === null || !rules.includes(approvers.rule) || expiresAt <= at) return false;
                const turn = document.turns.find((one) => one.number === number);
                const isOwn = document.session.owner === owner || turn?.clientId === owner;
                return approvers.owner === "may" || !isOwn;
              }),
            )
            .filter((action) => after === null || oldestFirst(action, after) > 0)
            .toSorted(oldestFirst)
            .slice(0, limit),
        ),
      findForApprover: (actionId) =>
        run((view) => {
          for (const { session, actions } of sessionsIn(view)) {
            const action = actions.find(({ id, approvers }) => id === actionId && approvers !== null);
            if (action !== undefined) return { sessionId: session.id, action };
          }
          return null;
        }),
      isAnyDue: () => run((view, at) => dueSessions(view, at).length > 0),
    },
    events: {
      after: (sessionId, after, limit) =>
        run((view) => {
          const found = view.get("session", sessionId);
          if (found === null) return null;
          const { key, incarnation, head } = found.session;
          const rows = found.events
            .filter(({ number }) => number > after)
            .slice(0, limit)
            .map(({ number, text }) => ({ number, payload: text }));
          return eventPage({ key, life: incarnation, head, event_floor: found.floor }, rows);
        }),
      trim: ({ keepCount, keepAfter, limit }) =>
        run((view) => {
          const long = sessionsIn(view).flatMap((document) => {
            const { head } = document.session;
            const recent = document.events.find(
              ({ number, at }) => at >= keepAfter && number <= head - keepCount,
            );
            const floor = recent === undefined ? head - keepCount : recent.number - 1;
            return floor > document.floor ? [{ document, floor }] : [];
          });
          const trimmed = long
            .toSorted((left, right) => left.document.session.key - right.document.session.key)
            .slice(0, limit);
          for (const { document, floor } of trimmed) change(view, withFloor(document, floor));
          return trimmed.length;
        }),
    },
  };
}

/** Returns the stored size of a message in UTF-8 bytes: content, calls, results and extras. */
function bytesOf(message: MessageRecord): number {
  const cells = MESSAGES.insertCells(message, 0);
  const sized = ["content", "tool_calls", "tool_results", "extras"];
  return Object.keys(MESSAGES.columns).reduce((sum, name, index) => {
    const cell = cells[index];
    return sum + (sized.includes(name) && typeof cell === "string" ? Buffer.byteLength(cell) : 0);
  }, 0);
}

function versionOf({ session, checkpoints }: SessionDocument): SessionVersion {
  const { id, incarnation, app, head, epoch } = session;
  const last = checkpoints.at(-1);
  const length = checkpoints.reduce((sum, { text }) => sum + text.length, 0);
  const streamed = last === undefined ? null : `${last.turn} ${last.offset} ${length}`;
  return { id, incarnation, app, head, epoch, streamed };
}

function useOf({ session, usedAt }: SessionDocument, at: number) {
  const { id, incarnation, spelling } = session;
  return { id, incarnation, spelling, unusedMs: at - usedAt };
}

function sessionStore(run: Run): SessionStore {
  /** Returns the session document and the messages that follow `after`. */
  const beginning = (view: Read, id: string, after: string | null, access: SessionAccess | null) => {
    const found = view.get("session", id);
    if (found === null) return null;
    const hidden = hiddenFrom(found.session, access);
    if (hidden !== null) return hidden;
    const index = after === null ? -1 : found.messages.findIndex((message) => message.id === after);
    if (after !== null && index < 0) return null;
    return { found, following: found.messages.slice(index + 1) };
  };
  return {
    find: (id) =>
      run((view, at) => {
        const found = view.get("session", id);
        return found === null ? null : { ...found.session, ...useOf(found, at) };
      }),
    versions: (ids) =>
      run((view) =>
        ids.flatMap((id) => {
          const found = view.get("session", id);
          return found === null ? [] : [versionOf(found)];
        }),
      ),
    streamedText: (id) =>
      run((view) => {
        const found = view.get("session", id);
        if (found === null) return null;
        const { incarnation, head, epoch } = found.session;
        const isOpen = found.session.status === "processing";
        const text = isOpen ? streamedOf(found, null) : "";
        return { incarnation, head, epoch, text, streamed: versionOf(found).streamed };
      }),
    list: ({ limit, ...query }) => run((view) => listed(view, query).slice(0, limit)),
    listKeys: (query) => run((view) => listed(view, query).map(({ key }) => key)),
    byKeys: (keys, access) =>
      run((view) => {
        const byKey = new Map(sessionsIn(view).map(({ session }) => [session.key, session]));
        return keys.flatMap((key) => {
          const session = byKey.get(key);
          return session === undefined || hiddenFrom(session, access) !== null ? [] : [session];
        });
      }),
    messagePage: (id, after, { limit, bytes }, access) =>
      run((view, at) => {
        const from = beginning(view, id, after, access);
        if (from === null || typeof from === "string") return from;
        const sizes = from.following.map((message) => ({ id: message.id, bytes: bytesOf(message) }));
        return { ...pageEnd(sizes, limit, bytes), session: useOf(from.found, at) };
      }),
    copySize: (id, through, access) =>
      run((view) => {
        const found = view.get("session", id);
        if (found === null || hiddenFrom(found.session, access) !== null) return null;
        const last =
          through === null
            ? Number.MAX_SAFE_INTEGER
            : (found.messages.find((message) => message.id === through)?.turn ?? 0);
        const turns = found.turns.filter(({ number, endedAt }) => endedAt !== null && number <= last);
        const lastTurn = Math.max(0, ...turns.map(({ number }) => number));
        const messages = found.messages.filter(({ turn }) => turn <= lastTurn);
        const steps = found.steps.filter(({ turn }) => turn <= lastTurn);
        const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
        const bytes =
          ROW * (turns.length + messages.length + steps.length) +
          turns.reduce((sum, { usage }) => sum + jsonBytes(usage), 0) +
          messages.reduce((sum, message) => sum + bytesOf(message), 0) +
          steps.reduce(
            (sum, { step }) =>
              sum + jsonBytes(step.usage) + Buffer.byteLength(step.text) + jsonBytes(step.parts),
            0,
          );
        return { app: appOf(found.session), lastTurn, bytes };
      }),
    messages: (id, after, limit, access, incarnation) =>
      run((view) => {
        const from = beginning(view, id, after, access);
        if (from === null || typeof from === "string") return from;
        if (incarnation !== undefined && incarnation !== from.found.session.incarnation) return null;
        let bytes = 0;
        const end = from.following.findIndex(
          (message) => (bytes += bytesOf(message)) >= MESSAGE_PORTION_BYTES,
        );
        return from.following.slice(0, Math.min(limit, end < 0 ? limit : end + 1));
      }),
    expire: (input) =>
      run((view) => {
        const unused = sessionsIn(view)
          .filter((document) => isExpired(document, input))
          .toSorted((left, right) => left.usedAt - right.usedAt || left.session.key - right.session.key)
          .slice(0, input.limit);
        for (const { session } of unused) removeSession(view, session.id);
        return unused.map(({ session: { id, incarnation } }) => ({ id, incarnation }));
      }),
    heldBy: ({ owner, publicKey, app }, after, limit) =>
      run((view) =>
        sessionsIn(view)
          .map(({ session }) => session)
          .filter((session) => (owner === null ? session.publicKey === publicKey : session.owner === owner))
          .filter((session) => (app === null || appOf(session) === app) && session.key > after)
          .toSorted((left, right) => left.key - right.key)
          .slice(0, limit),
      ),
    // Nothing to backfill: documents have always stored both sizes.
    countSizes: () => run(() => 0),
  };
}

/** Estimated bytes of a record's fixed-size fields: numbers, ids and times. */
const ROW = 256;

function isExpired(
  document: SessionDocument,
  { byApp = {}, boundBefore = null, ...others }: Parameters<SessionStore["expire"]>[0],
): boolean {
  const { session, usedAt } = document;
  if (session.status === "processing") return false;
  const app = appOf(session);
  const own = Object.hasOwn(byApp, app) ? byApp[app] : undefined;
  const retention = retentionOf(session);
  if (retention === 2) {
    const before = own === undefined ? (app === DEFAULT_APP ? boundBefore : null) : (own.boundBefore ?? null);
    return before !== null && usedAt < before;
  }
  // An upload that a message may still use.
  if (retention === 0 && (document.files ?? []).length > 0) return false;
  // Sessions of the default App use the cutoffs of sessions without an App.
  const { emptyBefore, unboundBefore } = (app === DEFAULT_APP ? undefined : own) ?? others;
  return usedAt < (retention === 0 ? Math.max(emptyBefore, unboundBefore) : unboundBefore);
}

function listed(
  view: Read,
  { publicKey, access, after, metadata = {}, archived }: Omit<ThreadQuery, "limit">,
) {
  const { apps, owner, ownerApps, provedApps, wallets } = listedFor(publicKey, access);
  const wanted = Object.entries(metadata);
  return sessionsIn(view)
    .map(({ session }) => session)
    .filter((session) => {
      const app = appOf(session);
      const isOfList = publicKey === null ? session.owner === owner : session.publicKey === publicKey;
      const isOpen =
        session.owner === null ||
        (session.owner === owner && (session.app === null || ownerApps.includes(session.app)));
      const isProved =
        session.walletId === null || !provedApps.includes(app) || wallets.includes(session.walletId);
      return isOfList && isOpen && isProved && apps.includes(app);
    })
    .filter((session) =>
      wanted.every(
        ([name, text]) => Object.hasOwn(session.metadata, name) && session.metadata[name] === text,
      ),
    )
    .filter((session) => archived === undefined || session.archived === archived)
    .toSorted(byActivity)
    .filter((session) => after === null || byActivity(session, after) > 0);
}

function foundIn(view: Read, { sessions, words, before, limit }: SearchQuery): readonly FoundPart[] {
  const hasWords = (own: readonly string[]): boolean =>
    words.every(({ word, isPrefix }) =>
      own.some((found) => found === word || (isPrefix && found.startsWith(word))),
    );
  const parts = searchedIn(view, sessions)
    .flatMap(({ session, messages }) => messages.map((message) => ({ session, message })))
    .filter(({ message: { status } }) => status !== "streaming")
    .toSorted(
      (left, right) =>
        left.message.createdAt - right.message.createdAt ||
        left.session.key - right.session.key ||
        left.message.position - right.message.position,
    )
    // The first part of a message gets its highest place.
    .flatMap((found) => [...partsOf(found.message.content)].toReversed().map((part) => ({ ...found, part })));
  const placed: FoundPart[] = [];
  let [place, messagePlace, id] = [-1, -1, ""];
  for (const { session, message, part } of parts) {
    place = Math.max(message.createdAt * 1024, place + 1);
    if (message.id !== id) [id, messagePlace] = [message.id, place];
    if (!hasWords(part.words) || (before !== null && place >= before)) continue;
    const text = Array.from(message.content)
      .slice(part.start, part.start + part.length)
      .join("");
    const { spelling: sessionId, title } = session;
    const { role, createdAt } = message;
    placed.push({ place, messagePlace, sessionId, title, messageId: id, role, createdAt, text });
  }
  return placed.toReversed().slice(0, limit);
}

function searchedIn(view: Read, sessions: SearchedSessions): readonly SessionDocument[] {
  if (sessions.kind === "session") {
    const document = view.get("session", sessions.id);
    return document === null || hiddenFrom(document.session, sessions.access) !== null ? [] : [document];
  }
  const { access } = sessions;
  const { apps: ownerApps, wallets = [] } = access.user;
  const walletApps = (access.provedApps ?? []).filter((app) => ownerApps.includes(app));
  const ofWallets = wallets.map((wallet) => ({
    publicKey: addressOf(wallet),
    access: { ...access, apps: access.apps.filter((app) => walletApps.includes(app)) },
  }));
  const lists = [{ publicKey: null, access }, ...ofWallets];
  const ids = new Set(lists.flatMap((list) => listed(view, { ...list, after: null })).map(({ id }) => id));
  return [...ids].flatMap((id) => view.get("session", id) ?? []);
}

/** Compares threads for lists: pinned first, then by latest activity, then by creation, newest first. */
function byActivity(
  left: NonNullable<ThreadQuery["after"]>,
  right: NonNullable<ThreadQuery["after"]>,
): number {
  return (
    Number(right.pinned) - Number(left.pinned) || right.updatedAt - left.updatedAt || right.key - left.key
  );
}

function turnStore(run: Run, isAlone: boolean): TurnStore {
  /** Removes leases and makes their turns runnable. Returns the number of affected turns. */
  const release = (
    view: Read,
    at: number,
    isEnding: (lease: NonNullable<SessionDocument["lease"]>) => boolean,
    attempts: number,
  ): number => {
    let count = 0;
    for (const document of sessionsIn(view)) {
      const { lease } = document;
      if (lease === null || !isEnding(lease)) continue;
      const turns = document.turns.map((turn): TurnRecord => {
        if (turn.state !== "running") return turn;
        count += 1;
        const ranMs = turn.ranMs + ranUnder(lease, at);
        return { ...turn, runnable: true, attempts: turn.attempts + attempts, ranMs };
      });
      change(view, { ...document, turns, lease: null });
    }
    return count;
  };
  return {
    countWaiting: (limit) =>
      run((view) => {
        const waiting = sessionsIn(view).flatMap(({ turns }) =>
          turns.filter(
            ({ endedAt, runnable, state, behindWaiting }) =>
              endedAt === null && (runnable || (state === "queued" && !behindWaiting)),
          ),
        );
        return Math.min(limit, waiting.length);
      }),
    checkpoint: (pieces) =>
      run((view, at) =>
        pieces.map(({ turn, offset, text }) => {
          const document = view.get("session", turn.sessionId);
          if (document === null) return false;
          const { session, lease } = document;
          if (!mayWrite(session, turn, lease, isAlone ? Number.NEGATIVE_INFINITY : at)) return false;
          const kept = document.checkpoints.filter(
            (piece) => piece.turn !== turn.number || piece.offset < offset,
          );
          change(view, { ...document, checkpoints: [...kept, { turn: turn.number, offset, text }] });
          return true;
        }),
      ),
    renew: (owner, epochs, leaseMs) =>
      run((view, at) => {
        const renewed = sessionsIn(view).flatMap((document) => {
          const { lease } = document;
          if (lease === null || lease.owner !== owner || !epochs.includes(lease.epoch)) return [];
          if (!isAlone && lease.expiresAt <= at) return [];
          change(view, { ...document, lease: { ...lease, expiresAt: at + leaseMs } });
          return [lease.epoch];
        });
        return { renewed, busy: [] };
      }),
    releaseDeadLeases: (everyOther) =>
      run((view, at) =>
        release(
          view,
          at,
          ({ expiresAt, owner }) => expiresAt <= at || (everyOther !== null && owner !== everyOther),
          0,
        ),
      ),
    handBack: (owner, epochs) =>
      run((view, at) =>
        release(view, at, (lease) => lease.owner === owner && epochs.includes(lease.epoch), -1),
      ),
    reasoning: (sessionId, incarnation, turns) =>
      run((view) => {
        const found = view.get("session", sessionId);
        if (found?.session.incarnation !== incarnation) return [];
        return found.steps
          .filter(({ turn, step }) => turns.includes(turn) && reasoningIn(step.parts) !== "")
          .toSorted((left, right) => left.turn - right.turn || left.step.number - right.step.number)
          .map(({ turn, step }) => ({ turn, step: step.number, text: reasoningIn(step.parts) }));
      }),
    history: (identity, maxCharacters, useSummary = false) =>
      run((view) => {
        const found = view.get("session", identity.sessionId);
        if (found === null || found.session.key !== identity.sessionKey) return null;
        if (turnThatRuns(found.session, openTurnsOf(found), identity) === null) return null;
        return turnsBefore(found, identity.number + 1, { maxCharacters, useSummary });
      }),
    ended: (sessionId, incarnation, maxCharacters) =>
      run((view) => {
        const found = view.get("session", sessionId);
        if (found === null || found.session.incarnation !== incarnation) return null;
        const open = found.turns.find(({ endedAt }) => endedAt === null);
        return turnsBefore(found, open?.number ?? Infinity, { maxCharacters, useSummary: true });
      }),
  };
}

/** Returns a session's turns before the given number, oldest first. */
function turnsBefore(
  document: SessionDocument,
  end: number,
  { maxCharacters, useSummary }: { readonly maxCharacters: number; readonly useSummary: boolean },
): PastTurn[] {
  const shown = document.turns.filter(
    ({ number, state, agentPosition }) =>
      number < end && !(state === "interrupted" && agentPosition === null),
  );
  const summarized = useSummary
    ? (document.messages.findLast(({ summary, turn }) => summary !== undefined && turn < end)?.turn ?? 0)
    : 0;
  const newestFirst: PastTurn[] = [];
  let characters = 0;
  for (const turn of shown.toReversed()) {
    if (turn.number <= summarized) break;
    const past = pastTurn(document, turn);
    characters += charactersOf(past);
    if (newestFirst.length > 0 && characters > maxCharacters) break;
    newestFirst.push(past);
  }
  const carrier = shown.find(({ number }) => number === summarized);
  return [...(carrier === undefined ? [] : [pastTurn(document, carrier)]), ...newestFirst.toReversed()];
}

function charactersOf({ steps, agentMessage, userMessage, steered = [] }: PastTurn): number {
  const answers =
    steps.length === 0 ? [agentMessage?.content ?? ""] : steps.map(({ parts }) => JSON.stringify(parts));
  const results = [agentMessage, ...steered].flatMap((message) => message?.toolResults ?? []);
  const questions = [userMessage, ...steered.filter(({ role }) => role === "user")];
  return (
    questions.reduce((sum, { content }) => sum + content.length, 0) +
    answers.reduce((sum, text) => sum + text.length, 0) +
    (results.length === 0 ? 0 : JSON.stringify(results).length)
  );
}

function pastTurn({ messages, steps }: SessionDocument, turn: TurnRecord): PastTurn {
  const at = (position: number | null) => messages.find((message) => message.position === position) ?? null;
  const userMessage = at(turn.userPosition);
  if (userMessage === null) throw new Error(`Turn ${turn.number} has no user message`);
  const steered = messages.filter(
    ({ turn: number, position }) =>
      number === turn.number && position > turn.userPosition && position < (turn.agentPosition ?? 0),
  );
  return {
    number: turn.number,
    state: turn.state,
    userMessage,
    agentMessage: at(turn.agentPosition),
    steps: steps.filter((step) => step.turn === turn.number).map(({ step }) => step),
    ...(steered.length > 0 && { steered }),
  };
}

// Admin, audit, jobs, keys, secrets and users

function otherPorts(
  run: Run,
): Pick<Store, "admin" | "audit" | "feedback" | "files" | "jobs" | "keys" | "search" | "secrets" | "users"> {
  const ACTIVE = "master key";
  /** Removes up to `limit` expired documents of a kind. Returns the number removed. */
  const forget = (
    view: Read,
    kind: "deleted" | "token",
    isOver: (time: number) => boolean,
    limit: number,
  ) => {
    const over = [...view.entries(kind)].filter(([, time]) => isOver(time)).slice(0, limit);
    for (const [id] of over) view.set(kind, id, null);
    return over.length;
  };
  const slotOf = ({ app, clientId, name }: Pick<SealedSecret, "app" | "clientId" | "name">): string =>
    JSON.stringify([app, clientId, name]);
  const secretsIn = (view: Read): SealedSecret[] =>
    Array.from(view.entries("secret"), ([, secret]) => secret).toSorted(bySlot);
  return {
    users: {
      revokeToken: (id, expiresAt) =>
        run((view) => {
          const isNew = view.get("token", id) === null;
          if (isNew) view.set("token", id, expiresAt);
          return isNew;
        }),
      isTokenRevoked: (id) => run((view) => view.get("token", id) !== null),
      forgetRevokedTokens: (limit) => run((view, at) => forget(view, "token", (time) => time < at, limit)),
    },
    keys: {
      add: (key, entry = null) =>
        run((view, at) => {
          if (view.get("key", key.id) !== null) throw new Error(`There is a key ${key.id}`);
          view.set("key", key.id, key);
          writeAudit(view, at, entry);
        }),
      find: (id) => run((view) => view.get("key", id)),
      list: () =>
        run((view) =>
          Array.from(view.entries("key"), ([, key]) => key).toSorted(
            (left, right) => left.createdAt - right.createdAt || compare(left.id, right.id),
          ),
        ),
      revoke: (id, entry = null) =>
        run((view, at) => {
          const key = view.get("key", id);
          if (key === null || key.revokedAt !== null) return key;
          writeAudit(view, at, entry);
          view.set("key", id, { ...key, revokedAt: at });
          return view.get("key", id);
        }),
      rotate: (id, next, overlapMs, entry = null) =>
        run((view, at) => {
          const key = view.get("key", id);
          if (key === null || key.revokedAt !== null) return null;
          if (key.expiresAt !== null && key.expiresAt <= at) return null;
          if (view.get("key", next.id) !== null) throw new Error(`There is a key ${next.id}`);
          view.set("key", id, { ...key, expiresAt: Math.min(at + overlapMs, key.expiresAt ?? Infinity) });
          view.set("key", next.id, next);
          writeAudit(view, at, entry);
          return view.get("key", id);
        }),
    },
    secrets: {
      put: (secrets, entry = null) =>
        run((view, at) => {
          const active = view.get("value", ACTIVE);
          if (secrets.some(({ keyId }) => keyId !== active)) return active;
          for (const secret of secrets) view.set("secret", slotOf(secret), secret);
          writeAudit(view, at, entry);
          return active;
        }),
      of: (app, clientId) =>
        run((view) => secretsIn(view).filter((secret) => secret.app === app && secret.clientId === clientId)),
      remove: (app, clientId, name, entry = null) =>
        run((view, at) => {
          const gone = secretsIn(view).filter(
            (secret) =>
              secret.app === app && secret.clientId === clientId && (name === null || secret.name === name),
          );
          for (const secret of gone) view.set("secret", slotOf(secret), null);
          if (gone.length > 0) writeAudit(view, at, entry);
          return gone.length;
        }),
      ofClient: (clientId) =>
        run((view) =>
          secretsIn(view)
            .filter((secret) => secret.clientId === clientId)
            .map(({ app, name }) => ({ app, name })),
        ),
      countByKey: () =>
        run((view) => {
          const counts: Record<string, number> = {};
          for (const { keyId } of secretsIn(view)) counts[keyId] = (counts[keyId] ?? 0) + 1;
          return counts;
        }),
      keyInForce: () => run((view) => view.get("value", ACTIVE)),
      bringInForce: (keyId, before) =>
        run((view) => {
          const active = view.get("value", ACTIVE);
          if (active !== null && active !== before && secretsIn(view).length > 0) return active;
          view.set("value", ACTIVE, keyId);
          return keyId;
        }),
      sealedByOthers: (keyId, after, limit) =>
        run((view) =>
          secretsIn(view)
            .filter((secret) => secret.keyId !== keyId && (after === null || bySlot(secret, after) > 0))
            .slice(0, limit),
        ),
      replace: (before, after) =>
        run((view) => {
          const found = view.get("secret", slotOf(before));
          if (found === null || found.keyId !== before.keyId || found.sealed !== before.sealed) return false;
          if (after !== null && after.keyId !== view.get("value", ACTIVE)) return false;
          view.set("secret", slotOf(before), after);
          return true;
        }),
    },
    audit: {
      add: (entry) => run((view, at) => writeAudit(view, at, entry)),
      list: ({ action, actor, app, target, from, to, after, limit }) =>
        run((view) =>
          Array.from(view.entries("audit"), ([, { once: _, ...record }]) => record)
            .filter(
              (record) =>
                (action === null || record.action === action) &&
                (actor === null || record.actor.id === actor || record.actor.name === actor) &&
                (app === null || record.app === app) &&
                (target === null || record.target === target) &&
                (from === null || record.at >= from) &&
                (to === null || record.at < to) &&
                (after === null || newestFirst(record, after) > 0),
            )
            .toSorted(newestFirst)
            .slice(0, limit),
        ),
      forget: (before, limit) =>
        run((view) => {
          const old = [...view.entries("audit")].filter(([, { at }]) => at < before).slice(0, limit);
          for (const [id] of old) view.set("audit", id, null);
          return old.length;
        }),
      saltOf: (owner, fresh) =>
        run((view) => {
          const salt = view.get("salt", owner) ?? fresh;
          view.set("salt", owner, salt);
          return salt;
        }),
      endErasure: (entry, owner) =>
        run((view, at) => {
          writeAudit(view, at, entry);
          if (owner !== null) view.set("salt", owner, null);
        }),
    },
    feedback: {
      list: ({ app, score, from, to, after, limit }) =>
        run((view) =>
          sessionsIn(view)
            .flatMap(feedbackOf)
            .filter(
              (entry) =>
                (app === null || entry.app === app) &&
                (score === null || entry.score === score) &&
                (from === null || entry.at >= from) &&
                (to === null || entry.at < to) &&
                (after === null || newestFeedbackFirst(entry, after) > 0),
            )
            .toSorted(newestFeedbackFirst)
            .slice(0, limit),
        ),
    },
    // A search reads all messages, as every list does.
    search: {
      isDue: () => Promise.resolve(false),
      index: () => Promise.resolve({ messages: 0, removed: 0, hasMore: false }),
      find: (query) => run((view) => foundIn(view, query)),
    },
    files: {
      find: (sessionId, fileId) =>
        run((view, at) => {
          const found = view.get("session", sessionId);
          if (found === null) return null;
          const { app, owner } = found.session;
          const file = found.files?.find(({ id, dueAt }) => id === fileId && (dueAt ?? Infinity) > at);
          return { session: { app, owner }, file: file ?? null };
        }),
      expect: ({ blob, app, sessionId, owner, bytes }, keptMs) =>
        run((view, at) => {
          const session = view.get("session", sessionId)?.session;
          // As `newOwnerOf`.
          const newOwner = (session?.messageCount ?? 0) === 0 ? owner : null;
          const holder = session?.owner ?? newOwner ?? sessionId;
          const number = take(view, "reservation");
          view.set("blob", blob, {
            id: blob,
            blob,
            dueAt: at + keptMs,
            reserved: { app, holder, bytes, number },
          });
        }),
      used: (blob) =>
        run((view) => {
          const own = view.get("blob", blob)?.reserved;
          if (own === undefined) throw new Error(`The blob ${blob} is not expected`);
          const { app, holder, number } = own;
          const sum = (items: readonly { readonly app: string; readonly bytes: number }[]) =>
            items.filter((item) => item.app === app).reduce((bytes, item) => bytes + item.bytes, 0);
          const reserved = Array.from(view.entries("blob")).flatMap(([, { reserved: room }]) =>
            room !== undefined && room.number <= number ? [room] : [],
          );
          const ofHolder = sessionsIn(view).filter(({ session }) => (session.owner ?? session.id) === holder);
          return {
            app: sum(filesIn(view)) + sum(reserved),
            owner:
              sum(ofHolder.flatMap(({ files = [] }) => files)) +
              sum(reserved.filter((room) => room.holder === holder)),
          };
        }),
      expire: (limit) =>
        run((view, at) => {
          const isOver = ({ dueAt }: FileRecord) => dueAt !== null && dueAt <= at - FILE_GRACE_MS;
          let left = limit;
          for (const document of sessionsIn(view)) {
            const over = (document.files ?? []).filter(isOver).slice(0, left);
            if (over.length === 0) continue;
            left -= over.length;
            noteUnused(view, over);
            change(view, {
              ...document,
              files: document.files?.filter((file) => !over.includes(file)) ?? [],
            });
          }
          return limit - left;
        }),
      unused: (limit) =>
        run((view, at) => {
          const used = new Set(filesIn(view).map(({ blob }) => blob));
          return Array.from(view.entries("blob"), ([, blob]) => blob)
            .filter(({ dueAt }) => dueAt <= at)
            .slice(0, limit)
            .map(({ id, blob }) => ({ id, blob, isUsed: used.has(blob) }));
        }),
      forget: (ids) =>
        run((view) => {
          for (const id of ids) view.set("blob", id, null);
        }),
      postpone: (ids, ms) =>
        run((view, at) => {
          for (const id of ids) {
            const blob = view.get("blob", id);
            if (blob !== null) view.set("blob", id, { ...blob, dueAt: at + ms });
          }
        }),
    },
    jobs: {
      claimTitles: (limit, leaseMs) =>
        run((view, at) => {
          const due = sessionsIn(view)
            .filter(
              ({ titleDueAt, messages }) => titleDueAt !== null && titleDueAt <= at && messages.length > 0,
            )
            .toSorted((left, right) => (left.titleDueAt ?? 0) - (right.titleDueAt ?? 0))
            .slice(0, limit);
          return due.flatMap((document) => {
            change(view, { ...document, titleDueAt: at + leaseMs });
            const { session, messages } = document;
            const [first] = messages;
            if (first === undefined) return [];
            const { id: sessionId, incarnation, utilityModel } = session;
            const { content: text, turn } = first;
            return [{ sessionId, incarnation, app: appOf(session), utilityModel, text, turn }];
          });
        }),
      claimSummaries: (limit, leaseMs) =>
        run((view, at) => {
          const due = sessionsIn(view)
            .flatMap((document) => {
              const { summaryJob: job = null } = document;
              return job !== null && job.dueAt <= at ? [{ document, job }] : [];
            })
            .toSorted((left, right) => left.job.dueAt - right.job.dueAt)
            .slice(0, limit);
          return due.map(({ document, job }) => {
            const attempts = job.attempts + 1;
            change(view, { ...document, summaryJob: { ...job, dueAt: at + leaseMs, attempts } });
            const { id: sessionId, key: sessionKey, incarnation, model, utilityModel } = document.session;
            const session = { sessionId, sessionKey, incarnation, app: appOf(document.session) };
            return { ...session, model, utilityModel, budget: job.budget, attempts };
          });
        }),
      endSummary: ({ sessionKey, attempts }, next) =>
        run((view, at) => {
          const document = sessionsIn(view).find(({ session }) => session.key === sessionKey);
          const job = document?.summaryJob ?? null;
          if (document === undefined || job?.attempts !== attempts) return;
          const summaryJob =
            next === null ? null : { ...job, dueAt: at + next.dueInMs, attempts: next.attempts };
          change(view, { ...document, summaryJob });
        }),
      isKeyUsed: (sessionId, key) =>
        run((view, at) => {
          const used = view.get("session", sessionId)?.usedKeys.find((one) => one.key === key);
          return used !== undefined && used.at > at - IDEMPOTENCY_KEPT_MS;
        }),
      forgetIdempotencyKeys: (limit) =>
        run((view, at) => {
          let left = limit;
          for (const document of sessionsIn(view)) {
            const old = document.usedKeys.filter((key) => key.at <= at - IDEMPOTENCY_KEPT_MS).slice(0, left);
            if (old.length === 0) continue;
            left -= old.length;
            change(view, { ...document, usedKeys: document.usedKeys.filter((key) => !old.includes(key)) });
          }
          return limit - left;
        }),
      wasDeleted: (sessionId) => run((view, at) => (view.get("deleted", sessionId) ?? 0) > at),
      forgetDeletedSessions: (limit) =>
        run((view, at) => forget(view, "deleted", (time) => time <= at, limit)),
      takeDuty: (name, heldMs) =>
        run((view, at) => {
          const due = view.get("duty", name);
          if (due !== null && due > at) return null;
          view.set("duty", name, at + heldMs);
          return at;
        }),
    },
    admin: {
      now: () => run((_view, at) => at),
      handleKey: (fresh) =>
        run((view) => {
          const key = view.get("value", "handle key") ?? fresh;
          view.set("value", "handle key", key);
          return key;
        }),
      counts: (limit) =>
        run((view, at) => {
          const all = sessionsIn(view);
          const asking = all.map((document) => pendingOf(document).length).filter((count) => count > 0);
          const running = new Map<string, number>();
          for (const { lease } of all)
            if (lease !== null && lease.expiresAt > at)
              running.set(lease.owner, 1 + (running.get(lease.owner) ?? 0));
          return {
            asking: Math.min(limit, asking.length),
            pendingActions: Math.min(
              limit,
              asking.reduce((sum, count) => sum + count, 0),
            ),
            owners: Array.from(running, ([owner, count]) => ({ owner, running: count })).toSorted(
              (left, right) => compare(left.owner, right.owner),
            ),
          };
        }),
      apps: (limit) =>
        run((view) => {
          const counts = new Map<string, number>();
          for (const { session } of sessionsIn(view))
            counts.set(appOf(session), Math.min(limit, 1 + (counts.get(appOf(session)) ?? 0)));
          return Array.from(counts, ([app, sessions]) => ({ app, sessions })).toSorted((left, right) =>
            compare(left.app, right.app),
          );
        }),
      used: ({ app, after, limit }) =>
        run((view) =>
          sessionsIn(view)
            .map(seen)
            .filter((session) => app === null || session.app === app)
            .filter((session) => after === null || byUse(session, after) > 0)
            .toSorted(byUse)
            .slice(0, limit),
        ),
      open: ({ below, limit }) =>
        run((view) =>
          sessionsIn(view)
            .filter(({ session, turns }) => (below === null || session.key < below) && turns.some(isOpen))
            .toSorted((left, right) => right.session.key - left.session.key)
            .slice(0, limit)
            .map(seen),
        ),
      find: (id) =>
        run((view) => {
          const found = view.get("session", id);
          return found === null ? null : seen(found);
        }),
      turns: (id, below, limit) =>
        run((view) => {
          const found = view.get("session", id);
          if (found === null) return null;
          return found.turns
            .filter(({ number }) => below === null || number < below)
            .toReversed()
            .slice(0, limit)
            .map((turn) => seenTurn(found, turn));
        }),
      summaries: (id) =>
        run((view) =>
          (view.get("session", id)?.messages ?? []).flatMap(({ turn, summary }) => {
            if (summary === undefined) return [];
            const { text: _, ...seen } = summary;
            return [{ turn, ...seen }];
          }),
        ),
      ended: ({ from, to, after, limit }) =>
        run((view) => {
          const before = after ?? { endedAt: to, sessionKey: 0, number: 0 };
          return sessionsIn(view)
            .flatMap(endedTurns)
            .filter((turn) => turn.endedAt >= from && byEnd(turn, before) > 0)
            .toSorted(byEnd)
            .slice(0, limit);
        }),
    },
  };
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function bySlot(left: SealedSecret, right: SealedSecret): number {
  return (
    compare(left.app, right.app) || compare(left.clientId, right.clientId) || compare(left.name, right.name)
  );
}

function newestFirst(left: Pick<AuditRecord, "at" | "id">, right: Pick<AuditRecord, "at" | "id">): number {
  return right.at - left.at || compare(right.id, left.id);
}

function isOpen({ endedAt }: TurnRecord): boolean {
  return endedAt === null;
}

function seenTurn(document: SessionDocument, turn: TurnRecord): SeenTurn {
  const { lease } = document;
  const times = pendingOf(document)
    .filter((action) => action.turn === turn.number)
    .map(({ expiresAt }) => expiresAt);
  const decideBy = turn.state === "waiting" && times.length > 0 ? Math.max(...times) : null;
  const last = document.steps.findLast((step) => step.turn === turn.number);
  return {
    turn,
    lease: turn.state === "running" && lease !== null ? ownedLease(lease) : null,
    decideBy,
    finishReason: last?.step.finishReason ?? null,
  };
}

function ownedLease({ owner, takenAt, expiresAt }: NonNullable<SessionDocument["lease"]>) {
  return { owner, takenAt, expiresAt };
}

function seen(document: SessionDocument): SeenSession {
  const { session, turns, usedAt } = document;
  const turn = turns.find(isOpen) ?? turns.at(-1);
  const { key, id, spelling, title, model, publicKey, messageCount, turnCount, createdAt, updatedAt } =
    session;
  return {
    key,
    id,
    spelling,
    app: appOf(session),
    title,
    model,
    publicKey,
    messageCount,
    turnCount,
    createdAt,
    updatedAt,
    usedAt,
    turn: turn === undefined ? null : seenTurn(document, turn),
  };
}

function endedTurns({ session, turns }: SessionDocument) {
  return turns.flatMap((turn) => {
    const { number, state, model, agentPosition, usage, enqueuedAt, startedAt, endedAt, ranMs } = turn;
    // A fork's copied turns ended before its session was created, so reports must not count them again.
    if (endedAt === null || endedAt < session.createdAt) return [];
    return [
      {
        sessionKey: session.key,
        number,
        app: appOf(session),
        state,
        model,
        hasAnswer: agentPosition !== null,
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        enqueuedAt,
        startedAt,
        endedAt,
        ranMs,
      },
    ];
  });
}

type EndPlace = { readonly endedAt: number; readonly sessionKey: number; readonly number: number };

/** Compares turns by end time, newest first. */
function byEnd(left: EndPlace, right: EndPlace): number {
  return right.endedAt - left.endedAt || right.sessionKey - left.sessionKey || right.number - left.number;
}
