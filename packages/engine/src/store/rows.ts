// Row types of both databases, and their conversion to records. Rows of sessions, messages, turns and actions
// derive from the field declarations.

import type { ACTION_FIELDS } from "../core/action.ts";
import type { RowOf } from "../core/field.ts";
import type { FILE_FIELDS } from "../core/file.ts";
import type { MESSAGE_FIELDS } from "../core/message.ts";
import type { SessionUse } from "../core/ports/driven/session-store.ts";
import type {
  AppKeyRecord,
  PastTurn,
  SummaryJob,
  TitleJob,
  TurnReasoning,
} from "../core/ports/driven/store.ts";
import { appOf, type SESSION_FIELDS } from "../core/session.ts";
import { type Lease, reasoningIn, type StepRecord, type TokenUsage, type TURN_FIELDS } from "../core/turn.ts";
import { APP_SCOPES } from "../core/key-scopes.ts";
import type { SealedSecret } from "../core/ports/driven/secret-store.ts";
import { ACTIONS, FILES, MESSAGES, SESSIONS, TURNS } from "./columns.ts";

export type SessionRow = RowOf<typeof SESSION_FIELDS> & {
  readonly event_floor: number;
  readonly used_at: number;
};
export type MessageRow = RowOf<typeof MESSAGE_FIELDS>;
export type TurnRow = RowOf<typeof TURN_FIELDS>;
export type ActionRow = RowOf<typeof ACTION_FIELDS>;
export type FileRow = RowOf<typeof FILE_FIELDS>;

export const toSession = SESSIONS.toRecord;
export const toMessage = MESSAGES.toRecord;
export const toTurn = TURNS.toRecord;
export const toAction = ACTIONS.toRecord;
export const toFile = FILES.toRecord;

export interface StepRow {
  readonly number: number;
  readonly finish_reason: string;
  readonly usage: string;
  readonly text: string;
  readonly parts: string;
}

/** SQL condition for steps that may contain reasoning. */
export const HAS_REASONING = `parts LIKE '%"type":"reasoning"%'`;

export interface ReasonedRow extends Pick<StepRow, "number" | "parts"> {
  readonly turn: number;
}

export interface LeaseRow {
  readonly taken_at: number | null;
  readonly expires_at: number;
}

/** A session with a title job, and its first message. */
export interface TitleRow {
  readonly key: number;
  readonly id: string;
  readonly life: string;
  readonly app: string | null;
  readonly utility_model: string | null;
  readonly text: string;
  readonly turn: number;
}

/** A session with a summary job. `attempts` excludes this claim. */
export interface SummaryRow extends Omit<TitleRow, "text" | "turn"> {
  readonly model: string;
  readonly attempts: number;
  readonly budget: number;
}

/** `at` is the time on the store's clock. */
export function toSessionUse(row: SessionRow, at: number): SessionUse {
  return { id: row.id, incarnation: row.life, spelling: row.spelling ?? row.id, unusedMs: at - row.used_at };
}

export function toStep(row: StepRow): StepRecord {
  return {
    number: row.number,
    text: row.text,
    parts: JSON.parse(row.parts) as StepRecord["parts"],
    usage: JSON.parse(row.usage) as TokenUsage,
    finishReason: row.finish_reason,
  };
}

export function toReasoning({ turn, number, parts }: ReasonedRow): TurnReasoning {
  return { turn, step: number, text: reasoningIn(JSON.parse(parts) as StepRecord["parts"]) };
}

export function toLease(row: LeaseRow): Lease {
  return { takenAt: row.taken_at, expiresAt: row.expires_at };
}

/**
 * Returns a turn of the history and its approximate length in the prompt: the user's text, the steps (or the answer if
 * there are none), and the tool results.
 */
export function toPastTurn(
  key: number,
  turn: TurnRow,
  {
    user,
    agent,
    steps,
    steered,
  }: {
    user: MessageRow | undefined;
    agent: MessageRow | null;
    steps: StepRow[];
    /** The turn's other messages. */
    steered: readonly MessageRow[];
  },
): { readonly past: PastTurn; readonly characters: number } {
  if (user === undefined) throw new Error(`Turn ${turn.number} of session ${key} has no user message`);
  const past = {
    number: turn.number,
    state: turn.state,
    userMessage: toMessage(user),
    agentMessage: agent === null ? null : toMessage(agent),
    steps: steps.map(toStep),
    ...(steered.length > 0 && { steered: steered.map(toMessage) }),
  };
  const texts = steps.length === 0 ? [agent?.content ?? ""] : steps.map(({ parts }) => parts);
  const answerLength = texts.reduce((sum, text) => sum + text.length, 0);
  const resultsLength = [agent, ...steered].reduce((sum, row) => sum + (row?.tool_results?.length ?? 0), 0);
  const questionsLength = [user, ...steered].reduce(
    (sum, { role, content }) => sum + (role === "user" ? content.length : 0),
    0,
  );
  return { past, characters: questionsLength + answerLength + resultsLength };
}

export function toTitleJob(row: TitleRow): TitleJob {
  const { id, life, utility_model: utilityModel, text, turn } = row;
  return { sessionId: id, incarnation: life, app: appOf(row), utilityModel, text, turn };
}

export function toSummaryJob(row: SummaryRow): SummaryJob {
  const { key: sessionKey, id: sessionId, life: incarnation, model, utility_model: utilityModel } = row;
  const session = { sessionId, sessionKey, incarnation, app: appOf(row) };
  return { ...session, model, utilityModel, budget: row.budget, attempts: row.attempts + 1 };
}

export interface KeyRow {
  readonly id: string;
  readonly name: string | null;
  readonly apps: string;
  readonly digest: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly scopes: string | null;
}

export function toKey(row: KeyRow): AppKeyRecord {
  return {
    id: row.id,
    name: row.name,
    apps: JSON.parse(row.apps) as AppKeyRecord["apps"],
    scopes: row.scopes === null ? APP_SCOPES : (JSON.parse(row.scopes) as AppKeyRecord["scopes"]),
    digest: row.digest,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

export interface SecretRow {
  readonly app: string;
  readonly client_id: string;
  readonly name: string;
  readonly key_id: string;
  readonly sealed: string;
}

export function toSecret({ app, client_id, name, key_id, sealed }: SecretRow): SealedSecret {
  return { app, clientId: client_id, name, keyId: key_id, sealed };
}
