// The event hub of a process: every commit and every delta passes through it, to the listeners of this process and to other nodes.

import type { PendingAction } from "@colloquy/protocol";
import type { PlacedMessage } from "../../message.ts";
import type { Bus, BusListener } from "./bus.ts";

/** An agent message that streams, with its whole text so far. */
export interface StreamingText {
  readonly messageId: string;
  readonly text: string;
  /** The message as last committed or read; `text` replaces its content. */
  readonly answer: PlacedMessage;
}

/** The position of a session's event log, as its event streams need it. */
export interface StreamPosition {
  /** The session's id as events carry it. */
  readonly spelling: string;
  readonly life: string;
  /** Sequence number of the last event. */
  readonly head: number;
  /** The App that the session belongs to. */
  readonly app: string;
  readonly epoch: number;
  /** The agent message that streams, with its text at the time of the read. */
  readonly streaming: StreamingText | null;
  /** Actions that wait for a decision, oldest first. */
  readonly pendingActions: readonly PendingAction[];
}

/** A session that was loaded into memory in the middle of an answer. */
export type LoadedSession = StreamPosition & { readonly id: string };

/** Listens to one process. What only `HubListener` has never reaches other nodes. */
export interface HubListener extends BusListener {
  /** The session was evicted from memory. */
  onEvicted?(sessionId: string): void;
  /** The session was loaded in the middle of an answer; no notification announced the text that came from the store. */
  onAnswerLoaded?(session: LoadedSession, streaming: StreamingText): void;
  /** Returns the incarnations of the session that the listener knows. */
  incarnationsOf?(sessionId: string): readonly string[];
}

export interface EventHub extends Bus {
  listen(listener: HubListener): () => void;
  /** Calls `onEvicted` of every listener. Never throws. */
  evicted(sessionId: string): void;
  /** Calls `onAnswerLoaded` of every listener. Never throws. */
  answerLoaded(session: LoadedSession, streaming: StreamingText): void;
}
