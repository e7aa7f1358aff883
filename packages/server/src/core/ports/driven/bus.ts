// How the parts of a service hear of what was committed, in this process and in the others. The bus only hints: a notification that is lost costs
// time, never an event, because readers mend gaps from the store.

import type { NumberedEvent } from "../../session-event.ts";

export type SessionNotification =
  | {
      readonly kind: "events";
      readonly life: string;
      /** The session's epoch after the commit: a turn of an older one has lost its right to run. */
      readonly epoch: number;
      readonly events: readonly NumberedEvent[];
    }
  /** Events were committed that do not fit into a notification: the last one has the number `head`. */
  | { readonly kind: "moved"; readonly life: string; readonly epoch: number; readonly head: number }
  | {
      readonly kind: "delta";
      readonly life: string;
      /** Of the run that says it: what comes from an older one than was heard of is dropped. */
      readonly epoch: number;
      readonly messageId: string;
      /** Characters of the message before `text`. */
      readonly offset: number;
      readonly text: string;
    }
  | { readonly kind: "deleted"; readonly life: string };

/** Whether a notification was published by this process or by another one. */
export type Origin = "here" | "elsewhere";

export interface BusListener {
  onNotification(sessionId: string, notification: SessionNotification, origin: Origin): void;
  /** Another process has turns for which no slot is free there. */
  onWork?(): void;
  /** Notes of other processes may have been lost until now: what is followed has to be looked up in the store. */
  onResumed?(): void;
}

/** Keeps the notifications of a session coming from the other processes. */
export interface Following {
  /** Resolves when they come; also when it cannot be said whether they do, because the bus is away. */
  readonly ready: Promise<void>;
  stop(): void;
}

export interface Bus {
  /** Tells every listener of this process before it returns, and those of the other processes that follow the session soon. Never throws. */
  publish(sessionId: string, notification: SessionNotification): void;
  /** Notifies the other processes of turns for which no slot is free here. Never throws. */
  notifyWork(): void;
  /**
   * Calls the listener for each notification: of this process all of them, of the others those of sessions that are followed here; in the order in
   * which one process published them. Answers how to stop.
   */
  listen(listener: BusListener): () => void;
  follow(sessionId: string): Following;
  close(): Promise<void>;
}

/** What carries notifications between processes. */
export interface BusServer {
  readonly kind: "in-process" | "postgresql" | "nats";
  /** Resolves when it has answered; rejects, in a bounded time, when it does not. `null` where there is no server. */
  readonly check: (() => Promise<void>) | null;
}
