import type { Attachment, NoticeCode, Source } from "@colloquy/protocol";
import type { ActionRecord } from "./action.ts";
import { bigint, type Fields, flag, integer, json, optionalJson, type RecordOf, text } from "./field.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import type { TurnOptions } from "./turn-options.ts";
import { waitsForPerson, type MessageRecord, type ToolCallRecord } from "./message.ts";

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

/** The fields of a turn. Times are milliseconds since the Unix epoch. */
export const TURN_FIELDS = {
  /** Counts within one incarnation of the session, from 1. */
  number: bigint("number", ({ position }) => position, { fixed: true }),
  /** Three states of an open turn, three of an ended one (contract section 3). */
  state: text("state", ({ z }) =>
    z.enum(["queued", "running", "waiting", "complete", "interrupted", "failed"]),
  ),
  /** Position of its user message. */
  userPosition: bigint("user_position", ({ position }) => position, { fixed: true }),
  /** Position of its last agent message, `null` until the turn starts. */
  agentPosition: bigint("agent_position", ({ position }) => position.nullable()),
  /** Number of starts since the turn last waited for a person. */
  attempts: integer("attempts", ({ z }) => z.int()),
  /** Number of finished model steps. */
  steps: integer("steps", ({ count }) => count),
  /** Milliseconds of all ended attempts, on the store's clock. */
  ranMs: bigint("ran_ms", ({ count }) => count),
  /** Rig of its last start; `null` before the first start, or if a node of an older version started it. */
  model: text("model", ({ word }) => word.nullable().default(null)),
  /** First and last start; `null` in the same cases as `model`. */
  startedAt: bigint("started_at", ({ time }) => time.nullable().default(null)),
  attemptAt: bigint("attempt_at", ({ time }) => time.nullable(), { computed: true }),
  /** Epoch of its last start; 0 before the first one. */
  epoch: bigint("epoch", ({ count }) => count, { computed: true }),
  /**
   * True if a process may claim the turn: it is first in its session's queue, or it is running without an
   * owner, because the owner is dead or a person has decided.
   */
  runnable: flag("runnable", ({ bit }) => bit, { computed: true }),
  /** True if it is queued behind a turn that waits for a person; it then does not count towards `limits.maxWaiting`. */
  behindWaiting: flag("behind_waiting", ({ bit }) => bit, { computed: true }),
  /** The `client_id` of the chat, whose secrets the tools may use. */
  clientId: text("client_id", ({ z }) => z.string().nullable(), { fixed: true }),
  /** Options of the chat besides its text; only `note` once the turn has ended. */
  options: optionalJson("options", ({ z }) => z.record(z.string(), z.json()).nullable().default(null), {
    read: (stored) => stored as TurnOptions,
    empty: {},
    isEmpty: (options) => Object.keys(options).length === 0,
  }),
  usage: json(
    "usage",
    ({ z }) => z.record(z.string(), z.number()),
    (stored) => stored as TokenUsage,
  ),
  /** Code of its failure, `null` otherwise. */
  failure: text("failure", ({ word }) => word.nullable()),
  enqueuedAt: bigint("enqueued_at", ({ time }) => time, { fixed: true }),
  endedAt: bigint("ended_at", ({ time }) => time.nullable()),
} as const satisfies Fields;

export type TurnRecord = RecordOf<typeof TURN_FIELDS>;
export type TurnState = TurnRecord["state"];

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
  /** Its last agent message. */
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
  /** Files of the message; absent for none. */
  readonly attachments?: readonly Attachment[];
  readonly agentMessage: MessageRecord;
  /** True if messages wait to be read at the turn's next step. */
  readonly isSteered: boolean;
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
