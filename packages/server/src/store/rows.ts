// Row types of both databases, and their conversion to records. Booleans are stored as 1 or 0, JSON as text.

import type { ActionRecord } from "../core/action.ts";
import type { AnswerExtras, MessageRecord, ToolCallRecord } from "../core/message.ts";
import type { SessionUse } from "../core/ports/driven/session-store.ts";
import type { AppKeyRecord, PastTurn, TitleJob, TurnReasoning } from "../core/ports/driven/store.ts";
import { appOf, type SessionRecord } from "../core/session.ts";
import { type TurnOptions } from "../core/turn-options.ts";
import { type Lease, reasoningIn, type StepRecord, type TokenUsage, type TurnRecord } from "../core/turn.ts";
import type { JsonObject } from "../core/json.ts";
import { withoutWrongTypes } from "../core/user-state.ts";
import { APP_SCOPES } from "../core/key-scopes.ts";
import type { SealedSecret } from "../core/ports/driven/secret-store.ts";

export interface SessionRow {
  readonly key: number;
  readonly id: string;
  /** Original spelling of the id; `null` if it was in lower case, or a node of an older version created the session. */
  readonly spelling: string | null;
  readonly life: string;
  readonly app: string | null;
  readonly title: string;
  readonly title_source: SessionRecord["titleSource"];
  readonly status: SessionRecord["status"];
  readonly model: string;
  readonly model_chosen: number;
  readonly model_app: string | null;
  readonly utility_model: string | null;
  readonly public_key: string | null;
  readonly wallet_id: string | null;
  readonly wallet_proved: number;
  readonly owned_by: string | null;
  readonly user_state: string | null;
  readonly pinned: number;
  readonly head: number;
  readonly event_floor: number;
  readonly message_count: number;
  readonly turn_count: number;
  readonly message_bytes: number | null;
  readonly event_bytes: number | null;
  readonly epoch: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly used_at: number;
}

export interface MessageRow {
  readonly position: number;
  readonly id: string;
  readonly turn: number;
  readonly role: MessageRecord["role"];
  readonly status: MessageRecord["status"];
  readonly created_at: number;
  readonly tool_calls: string | null;
  readonly tool_results: string | null;
  readonly content: string;
  readonly extras: string | null;
}

export interface TurnRow {
  readonly number: number;
  readonly state: TurnRecord["state"];
  readonly user_position: number;
  readonly agent_position: number | null;
  readonly attempts: number;
  readonly steps: number;
  readonly ran_ms: number;
  readonly model: string | null;
  readonly started_at: number | null;
  readonly attempt_at: number | null;
  readonly epoch: number;
  readonly runnable: number;
  readonly behind_waiting: number;
  readonly client_id: string | null;
  readonly options: string | null;
  readonly usage: string;
  readonly failure: string | null;
  readonly enqueued_at: number;
  readonly ended_at: number | null;
}

export interface StepRow {
  readonly number: number;
  readonly finish_reason: string;
  readonly usage: string;
  readonly text: string;
  readonly parts: string;
}

/** SQL for steps that may have reasoning to show. */
export const HAS_REASONING = `parts LIKE '%"type":"reasoning"%'`;

export interface ReasonedRow extends Pick<StepRow, "number" | "parts"> {
  readonly turn: number;
}

export interface LeaseRow {
  readonly taken_at: number | null;
  readonly expires_at: number;
}

export interface ActionRow {
  readonly number: number;
  readonly id: string;
  readonly turn: number;
  readonly call_id: string;
  readonly tool: string;
  readonly asked: string;
  readonly status: ActionRecord["status"];
  readonly result: string;
  readonly claim: string | null;
  readonly claim_expires_at: number | null;
  readonly created_at: number;
  readonly expires_at: number;
  readonly resolved_at: number | null;
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

export function toSession(row: SessionRow): SessionRecord {
  return {
    key: row.key,
    id: row.id,
    spelling: row.spelling ?? row.id,
    incarnation: row.life,
    app: row.app,
    title: row.title,
    titleSource: row.title_source,
    status: row.status,
    model: row.model,
    modelChosen: row.model_chosen === 1,
    modelApp: row.model_app,
    utilityModel: row.utility_model,
    publicKey: row.public_key,
    walletId: row.wallet_id,
    walletProved: row.wallet_proved === 1,
    owner: row.owned_by,
    userState: row.user_state === null ? null : withoutWrongTypes(JSON.parse(row.user_state) as JsonObject),
    pinned: row.pinned === 1,
    head: row.head,
    messageCount: row.message_count,
    turnCount: row.turn_count,
    messageBytes: row.message_bytes,
    eventBytes: row.event_bytes,
    epoch: row.epoch,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** `at` is the time on the store's clock. */
export function toSessionUse(row: SessionRow, at: number): SessionUse {
  return { id: row.id, incarnation: row.life, spelling: row.spelling ?? row.id, unusedMs: at - row.used_at };
}

export function toMessage(row: MessageRow): MessageRecord {
  return {
    position: row.position,
    id: row.id,
    turn: row.turn,
    role: row.role,
    content: row.content,
    status: row.status,
    toolCalls: row.tool_calls === null ? [] : (JSON.parse(row.tool_calls) as ToolCallRecord[]),
    toolResults:
      row.tool_results === null ? [] : (JSON.parse(row.tool_results) as MessageRecord["toolResults"]),
    ...(row.extras !== null && { extras: JSON.parse(row.extras) as AnswerExtras }),
    createdAt: row.created_at,
  };
}

export function toTurn(row: TurnRow): TurnRecord {
  return {
    number: row.number,
    state: row.state,
    userPosition: row.user_position,
    agentPosition: row.agent_position,
    attempts: row.attempts,
    steps: row.steps,
    ranMs: row.ran_ms,
    model: row.model,
    startedAt: row.started_at,
    attemptAt: row.attempt_at,
    epoch: row.epoch,
    runnable: row.runnable === 1,
    behindWaiting: row.behind_waiting === 1,
    clientId: row.client_id,
    options: row.options === null ? {} : (JSON.parse(row.options) as TurnOptions),
    usage: JSON.parse(row.usage) as TokenUsage,
    failure: row.failure,
    enqueuedAt: row.enqueued_at,
    endedAt: row.ended_at,
  };
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

export function toAction(row: ActionRow): ActionRecord {
  return {
    number: row.number,
    id: row.id,
    turn: row.turn,
    callId: row.call_id,
    tool: row.tool,
    asked: JSON.parse(row.asked) as ActionRecord["asked"],
    status: row.status,
    result: JSON.parse(row.result) as ActionRecord["result"],
    claim:
      row.claim === null || row.claim_expires_at === null
        ? null
        : { token: row.claim, expiresAt: row.claim_expires_at },
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    resolvedAt: row.resolved_at,
  };
}

/**
 * Returns a turn of the history, and the approximate number of characters that a model receives of it: the
 * user's text, the steps (or the answer if there are none), and the tool results.
 */
export function toPastTurn(
  key: number,
  turn: TurnRow,
  { user, agent, steps }: { user: MessageRow | undefined; agent: MessageRow | null; steps: StepRow[] },
): { readonly past: PastTurn; readonly characters: number } {
  if (user === undefined) throw new Error(`Turn ${turn.number} of session ${key} has no user message`);
  const past = {
    number: turn.number,
    state: turn.state,
    userMessage: toMessage(user),
    agentMessage: agent === null ? null : toMessage(agent),
    steps: steps.map(toStep),
  };
  const texts = steps.length === 0 ? [agent?.content ?? ""] : steps.map(({ parts }) => parts);
  const answered = texts.reduce((sum, text) => sum + text.length, 0);
  return { past, characters: user.content.length + answered + (agent?.tool_results?.length ?? 0) };
}

export function toTitleJob(row: TitleRow): TitleJob {
  const { id, life, utility_model: utilityModel, text, turn } = row;
  return { sessionId: id, incarnation: life, app: appOf(row), utilityModel, text, turn };
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
