// How each provider expresses the same content on the wire, by its API reference. Answers are lists of
// server-sent events.

import { openai } from "./openai-protocol.ts";
import { anthropic } from "./anthropic-protocol.ts";
import { google } from "./google-protocol.ts";
import { compatible } from "./compatible-protocol.ts";

/** A part of an answer. */
export type Piece =
  /** Reasoning, with the provider's signature if it uses one. */
  | { readonly think: string; readonly seal: string }
  /** Text in so many deltas. */
  | { readonly say: readonly string[] }
  | { readonly call: string; readonly input: unknown; readonly id: string };

export type Events = ReadonlyArray<readonly [name: string | null, data: unknown]>;

/** Every answer uses 11 input tokens, 4 of them cached, and 7 output tokens. */
export interface Protocol {
  readonly rig: string;
  /** The start of an answer that does not end. */
  begin(text: string): Events;
  answer(pieces: readonly Piece[]): Events;
  /** The body of an error with a status. */
  refusal(status: number, message: string): unknown;
  /** The part of a request that contains the conversation, without instructions, in the provider's format. */
  conversation(body: Readonly<Record<string, unknown>>): unknown;
  /**
   * The expected conversation in a request: a question, a step with a tool call, its result, an answer, and
   * the next message.
   */
  replay(conversation: Conversation): unknown;
}

export interface Conversation {
  readonly question: string;
  readonly step: readonly [think: Sealed, text: string, call: Call];
  readonly result: string;
  readonly answer: readonly [think: Sealed, text: string];
  readonly next: string;
}

export interface Sealed {
  readonly think: string;
  readonly seal: string;
}

export interface Call {
  readonly call: string;
  readonly input: unknown;
  readonly id: string;
}

export const PROTOCOLS: readonly Protocol[] = [openai, anthropic, google, compatible];
