// Notifications of commits, in this process and between processes. The bus only hints: a lost notification
// costs time, never an event, because subscribers fill gaps from the store.

import type { NumberedEvent } from "../../session-event.ts";

export type SessionNotification =
  | {
      readonly kind: "events";
      readonly incarnation: string;
      /** The session's epoch after the commit. Turns with an older epoch must stop. */
      readonly epoch: number;
      readonly events: readonly NumberedEvent[];
    }
  /** Events were committed that do not fit into a notification; `head` is the number of the last one. */
  | { readonly kind: "moved"; readonly incarnation: string; readonly epoch: number; readonly head: number }
  /**
   * Streaming text. Other processes get the first text of each run of a turn, and after a `text_requested` the rest.
   */
  | {
      readonly kind: "delta";
      readonly incarnation: string;
      /** Epoch of the sending turn; deltas of older epochs are dropped. */
      readonly epoch: number;
      readonly messageId: string;
      /** Characters of the message before `text`. */
      readonly offset: number;
      readonly text: string;
      /** True if later text is sent only on request. */
      readonly announces?: true;
    }
  /** Requests the text beyond `known`, until the turn ends, from another process that runs the turn. */
  | { readonly kind: "text_requested"; readonly incarnation: string; readonly known: KnownText | null }
  /** Reasoning of the running model call. After the first piece of a step, sent only on `reasoning_requested`. */
  | ({ readonly kind: "reasoning"; readonly incarnation: string } & ReasoningPiece)
  /** Requests the reasoning beyond `known`, until the turn ends, from the process that runs the turn. */
  | {
      readonly kind: "reasoning_requested";
      readonly incarnation: string;
      readonly known: KnownReasoning | null;
    }
  | { readonly kind: "deleted"; readonly incarnation: string };

export interface ReasoningPiece {
  /** Epoch of the sending turn; pieces of older epochs are dropped. */
  readonly epoch: number;
  readonly messageId: string;
  /** Number of the model call within its turn. */
  readonly step: number;
  /** Length of the step's reasoning before `text`, in UTF-16 code units; 0 replaces all of it. */
  readonly offset: number;
  readonly text: string;
}

/** Text of a streaming message that a process has: its length in UTF-16 code units. */
export interface KnownText {
  readonly epoch: number;
  readonly messageId: string;
  readonly length: number;
}

/** Reasoning that a subscriber has received: its step, and its length in UTF-16 code units. */
export interface KnownReasoning {
  readonly epoch: number;
  readonly step: number;
  readonly length: number;
}

/** Receives notifications of other processes. */
export interface BusListener {
  onNotification(sessionId: string, notification: SessionNotification): void;
  /** Called when another process has turns for which it has no free slot. */
  onWork(): void;
  /** Called when notifications may have been lost. Followed sessions must be read from the store. */
  onResumed(): void;
}

/** Subscription to notifications of other processes about a session. */
export interface Following {
  /** Resolves when the subscription is active, or if the bus is down. */
  readonly ready: Promise<void>;
  stop(): void;
}

/** Carries notifications to the other processes. Implemented by `ClusterBus` (bus/cluster-bus.ts). */
export interface Bus {
  /** Sends to the processes that follow the session, in the order of the calls. Never throws. */
  publish(sessionId: string, notification: SessionNotification): void;
  /** Notifies the other processes of turns for which no slot is free here. Never throws. */
  notifyWork(): void;
  /**
   * Registers the only listener. It gets the notifications of other processes about followed sessions, in the
   * order in which each process published them.
   */
  listen(listener: BusListener): void;
  /** Follows a session that is not followed yet. */
  follow(sessionId: string): Following;
  close(): Promise<void>;
}

export interface BusServer {
  /** Name of the plugin that carries notifications; `in-process` without other nodes. */
  readonly kind: string;
  /** Checks the connection in bounded time and rejects if it fails; `null` without a server. */
  readonly check: (() => Promise<void>) | null;
}
