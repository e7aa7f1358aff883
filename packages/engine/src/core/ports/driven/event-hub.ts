// The event hub of a process: every commit and every delta passes through it, to the listeners of this
// process and to other nodes.

import type { PendingAction } from "@colloquy/protocol";
import type { PlacedMessage } from "../../message.ts";
import type { Bus, Following, SessionNotification } from "./bus.ts";

/** A streaming agent message with its whole text so far. */
export interface StreamingText {
  readonly messageId: string;
  readonly text: string;
  /** The message as last committed or read; `text` replaces its content. */
  readonly answer: PlacedMessage;
}

/** The state of a session that opening an event stream needs. */
export interface StreamPosition {
  /** The session id as its creator spelled it; events contain this form. */
  readonly spelling: string;
  readonly incarnation: string;
  /** Sequence number of the last event. */
  readonly head: number;
  /** The App that the session belongs to. */
  readonly app: string;
  /** The same; `null` before the first chat binds the session to an App. */
  readonly boundApp: string | null;
  /** As in `SessionRecord`. */
  readonly owner: string | null;
  readonly epoch: number;
  /** True while a turn is queued, runs or waits. */
  readonly isProcessing: boolean;
  /** The streaming agent message, with its text at the time of the read. */
  readonly streaming: StreamingText | null;
  /** Actions that wait for a decision, oldest first. */
  readonly pendingActions: readonly PendingAction[];
}

/** A session that was loaded into memory in the middle of an answer. */
export type LoadedSession = StreamPosition & { readonly id: string };

/** The publisher of a notification, or its receivers: this process or other ones. */
export type Place = "here" | "elsewhere";

export interface HubListener {
  onNotification(sessionId: string, notification: SessionNotification, origin: Place): void;
  /** Called when another process has turns for which it has no free slot. */
  onWork?(): void;
  /** The session was evicted from memory. */
  onEvicted?(sessionId: string): void;
  /** The session was loaded in the middle of an answer, whose text was read from the store and not announced. */
  onAnswerLoaded?(session: LoadedSession, streaming: StreamingText): void;
  /** Returns the incarnations of the session that the listener knows. */
  incarnationsOf?(sessionId: string): readonly string[];
}

/** Implemented by `ProcessEventHub` (bus/event-hub.ts). */
export interface EventHub extends Pick<Bus, "notifyWork" | "close"> {
  /**
   * Calls the listeners of this process before it returns, and later those of processes that follow the
   * session. With `only`, calls one of the two. Never throws.
   */
  publish(sessionId: string, notification: SessionNotification, only?: Place): void;
  /**
   * Adds a listener. It gets all notifications of this process, and those of other processes about followed
   * sessions, in each publisher's order. Returns a function that removes the listener.
   */
  listen(listener: HubListener): () => void;
  /**
   * Receives the notifications of other nodes about the session until it is stopped. Without other nodes, it does nothing: listeners get
   * the notifications of their own process in any case.
   */
  follow(sessionId: string): Following;
  /** Calls `onEvicted` of every listener. Never throws. */
  evicted(sessionId: string): void;
  /** Calls `onAnswerLoaded` of every listener. Never throws. */
  answerLoaded(session: LoadedSession, streaming: StreamingText): void;
}
