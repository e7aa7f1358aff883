import type { NoticeCode } from "@colloquy/protocol";
import type { ActionRecord } from "./action.ts";
import type { JsonValue } from "./json.ts";
import type { MessageRecord, ToolCallRecord } from "./message.ts";

/** Contract section 3: three states of an open turn, three ends. */
export type TurnState = "queued" | "running" | "waiting" | "complete" | "interrupted" | "failed";

/** A turn that has crashed its process this often is not tried again (contract section 3, "Crash"). */
export const MAX_ATTEMPTS = 3;

/** Calls of one step that are made. Each result announces the whole message again, so their cost grows with the square of their number. */
export const MAX_CALLS = 128;

/** How long a lease holds from the moment it is taken, in milliseconds on the store's clock; renewing prolongs it. */
export const LEASE_MS = 10_000;

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly reasoningTokens: number;
  readonly cachedInputTokens: number;
}

export interface TurnRecord {
  /** Counts within one life of a session; the first turn has 1. */
  readonly number: number;
  readonly state: TurnState;
  /** Position of its user message. */
  readonly userPosition: number;
  /** Position of its agent message, `null` until the turn starts. */
  readonly agentPosition: number | null;
  /** How often it was started, since the last time that it waited for a person. */
  readonly attempts: number;
  /** Finished model steps. */
  readonly steps: number;
  /** Milliseconds that it ran in attempts that are over, on the store's clock, whatever ended them; the one under way is not in it. */
  readonly ranMs: number;
  /** Rig that it was started on last; `null` before it starts, and where a node of a version before has started it. */
  readonly model: string | null;
  /** Milliseconds since the Unix epoch: its first start, and its last one; `null` as `model`. */
  readonly startedAt: number | null;
  readonly attemptAt: number | null;
  /** Epoch under which it runs or ran last; 0 before it starts. */
  readonly epoch: number;
  /**
   * Whether a process may start it now: it is the first open turn of its session and nobody holds the lease.
   * True for a queued turn at the head of the queue and for a running one whose owner is gone, or that waits for a person no more.
   */
  readonly runnable: boolean;
  /**
   * Whether it is queued behind a turn that waits for a person. Then it waits for nothing of this service, and does not count to what may
   * wait for that (`limits.maxWaiting`).
   */
  readonly behindWaiting: boolean;
  /** The `client_id` of the chat; decides whose secrets its tools may use. */
  readonly clientId: string | null;
  readonly usage: TokenUsage;
  /** Why it failed: a stable word, `null` otherwise. */
  readonly failure: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly enqueuedAt: number;
  readonly endedAt: number | null;
}

/** Why a turn failed. */
export interface TurnFailure {
  readonly code: NoticeCode;
  /** What the person is told. */
  readonly message: string;
}

/** The lease under which a session's turn runs. Milliseconds since the Unix epoch, on the store's clock. */
export interface Lease {
  /** Since when its owner runs the turn; `null` where a node of the version before has taken it. */
  readonly takenAt: number | null;
  readonly expiresAt: number;
}

/** A turn that has not ended, with its messages. */
export interface OpenTurn {
  readonly turn: TurnRecord;
  readonly userMessage: MessageRecord;
  readonly agentMessage: MessageRecord | null;
  /** Its actions that nobody has decided yet, oldest first. */
  readonly actions: readonly ActionRecord[];
}

/** One finished model step: what was said and called, kept for recovery and for exact replay to a model. */
export interface StepRecord {
  /** The first step of a turn is 1. */
  readonly number: number;
  readonly text: string;
  /** The assistant's content parts as the model gave them (AI SDK `AssistantContent`), provider metadata included. */
  readonly parts: JsonValue;
  readonly usage: TokenUsage;
  readonly finishReason: string;
}

/** The identity under which a turn writes. The store refuses every write of another epoch than the session's. */
export interface TurnIdentity {
  readonly sessionId: string;
  readonly sessionKey: number;
  readonly turn: number;
  readonly epoch: number;
}

/** What a process needs to run a turn that it has just acquired. */
export interface StartedTurn extends TurnIdentity {
  readonly life: string;
  readonly app: string;
  readonly model: string;
  readonly attempt: number;
  readonly stepsDone: number;
  /** Milliseconds that it ran in the attempts before this one; they count towards `limits.turnMs`. */
  readonly ranMs: number;
  readonly userText: string;
  readonly agentMessage: MessageRecord;
  /**
   * Calls of the last finished step that still need a result: run them before the next step, those that `needsIntent` once it is stored.
   * Without those that wait for a person.
   */
  readonly openCalls: readonly ToolCallRecord[];
  readonly clientId: string | null;
  readonly publicKey: string | null;
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
