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
  | {
      readonly kind: "delta";
      readonly incarnation: string;
      /** Epoch of the sending turn; deltas of older epochs are dropped. */
      readonly epoch: number;
      readonly messageId: string;
      /** Characters of the message before `text`. */
      readonly offset: number;
      readonly text: string;
    }
  | { readonly kind: "deleted"; readonly incarnation: string };

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
  readonly kind: "in-process" | "postgresql" | "nats";
  /** Checks the connection in bounded time and rejects if it fails; `null` without a server. */
  readonly check: (() => Promise<void>) | null;
}
