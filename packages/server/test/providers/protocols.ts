// How each provider says the same thing over the wire, as its API reference has it. Answers are lists of server-sent events.

import { openai } from "./openai-protocol.ts";
import { anthropic } from "./anthropic-protocol.ts";
import { google } from "./google-protocol.ts";
import { compatible } from "./compatible-protocol.ts";

/** A piece of an answer. */
export type Piece =
  /** Reasoning, with what the provider seals it with where it does that. */
  | { readonly think: string; readonly seal: string }
  /** Text, in so many pieces. */
  | { readonly say: readonly string[] }
  | { readonly call: string; readonly input: unknown; readonly id: string };

export type Events = ReadonlyArray<readonly [name: string | null, data: unknown]>;

/** Every answer counts 11 tokens of input, 4 of them from a cache, and 7 of output. */
export interface Protocol {
  readonly rig: string;
  /** The beginning of an answer that does not end. */
  begin(text: string): Events;
  answer(pieces: readonly Piece[]): Events;
  /** The body of an error with a status. */
  refusal(status: number, message: string): unknown;
  /** The part of a request that holds the conversation, without instructions, in the provider's own words. */
  conversation(body: Readonly<Record<string, unknown>>): unknown;
  /** How the conversation must be sent back: a question, a step that called a tool, its result, an answer, and what was said then. */
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
