import type { NoticeCode, Source } from "@colloquy/protocol";
import type { ActionRecord } from "./action.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import type { TurnOptions } from "./turn-options.ts";
import { waitsForPerson, type MessageRecord, type ToolCallRecord } from "./message.ts";

/** State of a turn (contract section 3): three states of an open turn, three of an ended one. */
export type TurnState = "queued" | "running" | "waiting" | "complete" | "interrupted" | "failed";

/** Maximum attempts: a turn fails after this many crashes of its process (contract section 3, "Crash"). */
export const MAX_ATTEMPTS = 3;

/**
 * Maximum calls of a step. Each result emits the whole message again, so the cost grows with the square of
 * the calls.
 */
export const MAX_CALLS = 128;

/** Duration of a lease from its start or renewal, in milliseconds on the store's clock. */
export const LEASE_MS = 10_000;

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly reasoningTokens: number;
  readonly cachedInputTokens: number;
}

export interface TurnRecord {
  /** Counts within one incarnation of the session, from 1. */
  readonly number: number;
  readonly state: TurnState;
  /** Position of its user message. */
  readonly userPosition: number;
  /** Position of its agent message, `null` until the turn starts. */
  readonly agentPosition: number | null;
  /** Number of starts since the turn last waited for a person. */
  readonly attempts: number;
  /** Number of finished model steps. */
  readonly steps: number;
  /** Milliseconds of all ended attempts, on the store's clock. */
  readonly ranMs: number;
  /** Rig of its last start; `null` before the first start, or if a node of an older version started it. */
  readonly model: string | null;
  /** First and last start, in milliseconds since the Unix epoch; `null` in the same cases as `model`. */
  readonly startedAt: number | null;
  readonly attemptAt: number | null;
  /** Epoch of its last start; 0 before the first one. */
  readonly epoch: number;
  /**
   * True if a process may claim the turn: it is first in its session's queue, or it is running without an
   * owner, because the owner is dead or a person has decided.
   */
  readonly runnable: boolean;
  /** True if it is queued behind a turn that waits for a person; it then does not count towards `limits.maxWaiting`. */
  readonly behindWaiting: boolean;
  /** The `client_id` of the chat, whose secrets the tools may use. */
  readonly clientId: string | null;
  /** Options of the chat besides its text; empty once the turn has ended. */
  readonly options: TurnOptions;
  readonly usage: TokenUsage;
  /** Code of its failure, `null` otherwise. */
  readonly failure: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly enqueuedAt: number;
  readonly endedAt: number | null;
}

/** Why a turn failed. */
export interface TurnFailure {
  readonly code: NoticeCode;
  /** User-facing sentence. */
  readonly message: string;
}

/** The lease under which a session's turn runs. Milliseconds since the Unix epoch, on the store's clock. */
export interface Lease {
  /** `null` if a node of the previous version took the lease. */
  readonly takenAt: number | null;
  readonly expiresAt: number;
}

/** A turn that has not ended, with its messages. */
export interface OpenTurn {
  readonly turn: TurnRecord;
  readonly userMessage: MessageRecord;
  readonly agentMessage: MessageRecord | null;
  /** Its pending actions, oldest first. */
  readonly actions: readonly ActionRecord[];
}

/** Joins an open turn from its parts. `pendingActions` returns those of the session. */
export function openTurnOf(
  turn: TurnRecord,
  messageAt: (position: number) => MessageRecord,
  pendingActions: () => readonly ActionRecord[],
): OpenTurn {
  const userMessage = messageAt(turn.userPosition);
  const agentMessage = turn.agentPosition === null ? null : messageAt(turn.agentPosition);
  // Only one turn of a session has started, so all pending actions of the session belong to it.
  const asks = agentMessage !== null && waitsForPerson(agentMessage);
  return { turn, userMessage, agentMessage, actions: asks ? pendingActions() : [] };
}

/** A finished model step, kept for recovery and for exact replay to a model. */
export interface StepRecord {
  /** Counts from 1 in each turn. */
  readonly number: number;
  readonly text: string;
  /** AI SDK `AssistantContent`, with provider metadata. */
  readonly parts: JsonValue;
  readonly usage: TokenUsage;
  readonly finishReason: string;
}

/** A model step to be stored, with new content of its message. */
export interface NewStep extends StepRecord {
  /** Web pages that the provider used; absent for none. */
  readonly sources?: readonly Source[];
  /** The answer in the requested schema. */
  readonly data?: JsonObject;
}

/** Returns the visible reasoning of a step's parts; empty for none. */
export function reasoningIn(parts: JsonValue): string {
  const texts = (Array.isArray(parts) ? parts : []).flatMap((part) =>
    isJsonObject(part) && part["type"] === "reasoning" && typeof part["text"] === "string"
      ? [part["text"].trim()]
      : [],
  );
  return texts.filter((text) => text !== "").join("\n\n");
}

/** The identity under which a turn writes. The store rejects writes whose epoch is not the session's. */
export interface TurnIdentity {
  readonly sessionId: string;
  readonly sessionKey: number;
  readonly number: number;
  readonly epoch: number;
}

/** An acquired turn with everything needed to run it. */
export interface StartedTurn extends TurnIdentity {
  readonly incarnation: string;
  readonly app: string;
  readonly model: string;
  readonly attempt: number;
  readonly stepsDone: number;
  /** Milliseconds of earlier attempts; they count towards `limits.turnMs`. */
  readonly ranMs: number;
  readonly userText: string;
  readonly agentMessage: MessageRecord;
  /** Calls of the last finished step to run before the next step, without those that wait for a person. */
  readonly openCalls: readonly ToolCallRecord[];
  readonly clientId: string | null;
  readonly options: TurnOptions;
  readonly publicKey: string | null;
  readonly walletId: string | null;
  readonly walletProved: boolean;
  readonly userState: { readonly [key: string]: JsonValue } | null;
}

export const NO_USAGE: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  reasoningTokens: 0,
  cachedInputTokens: 0,
};

export function addUsage(left: TokenUsage, right: TokenUsage): TokenUsage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    totalTokens: left.totalTokens + right.totalTokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
    cachedInputTokens: left.cachedInputTokens + right.cachedInputTokens,
  };
}

/** Returns the provider of a rig (`provider/model`). */
export function providerOf(rig: string): string {
  const slash = rig.indexOf("/");
  return slash < 0 ? rig : rig.slice(0, slash);
}

/**
 * Returns for how many milliseconds a turn ran under a lease until `at` (on the store's clock), or until the
 * lease expired, when its owner had stopped. 0 without a lease, and for a lease of the previous version,
 * which does not record when it was taken.
 */
export function ranUnder(lease: Lease | null, at: number): number {
  if (lease === null || lease.takenAt === null) return 0;
  return Math.max(0, Math.min(at, lease.expiresAt) - lease.takenAt);
}

/**
 * Returns the milliseconds of the current attempt until `at`, or until `lease` expires if it is known; 0
 * without an attempt.
 */
export function ranInAttempt(
  { state, runnable, attemptAt }: Pick<TurnRecord, "state" | "runnable" | "attemptAt">,
  lease: Pick<Lease, "expiresAt"> | null,
  at: number,
): number {
  if (state !== "running" || runnable || attemptAt === null) return 0;
  return Math.max(0, Math.min(at, lease?.expiresAt ?? at) - attemptAt);
}
