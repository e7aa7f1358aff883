// The wire format of each provider, according to its API reference, so that one test can run against all of
// them.

import { openai } from "./openai-protocol.ts";
import { anthropic } from "./anthropic-protocol.ts";
import { google } from "./google-protocol.ts";
import { compatible } from "./compatible-protocol.ts";

/** A part of an answer. */
export type Part =
  /** Reasoning, with the signature that some providers require back. */
  | { readonly reasoning: string; readonly signature: string }
  /** Text, in deltas. */
  | { readonly deltas: readonly string[] }
  | { readonly tool: string; readonly input: unknown; readonly id: string };

/** Server-sent events. */
export type Events = ReadonlyArray<readonly [name: string | null, data: unknown]>;

/** Every answer uses 11 input tokens, 4 of them cached, and 7 output tokens. */
export interface Protocol {
  readonly rig: string;
  /** Name of the tool with which its SDK package asks for JSON; absent if the provider has a parameter for that. */
  readonly jsonTool?: string;
  /** The first events of an answer, up to and including this text. */
  beginning(text: string): Events;
  answer(parts: readonly Part[]): Events;
  /** The body of an error response. */
  errorBody(status: number, message: string): unknown;
  /** Extracts the conversation from a request body, without instructions, in the provider's format. */
  conversation(body: Readonly<Record<string, unknown>>): unknown;
  /** Returns what the next step of a turn sends back of its reasoning. */
  reasoningOf(reasoning: SignedReasoning): string;
  /** Expected result of `conversation` for the request that sends `next`. */
  expectedConversation(conversation: Conversation): unknown;
}

/** A turn with one tool call, and the message that follows it. */
export interface Conversation {
  readonly question: string;
  readonly step: readonly [reasoning: SignedReasoning, text: string, call: Call];
  readonly result: string;
  readonly answer: readonly [reasoning: SignedReasoning, text: string];
  readonly next: string;
}

export interface SignedReasoning {
  readonly reasoning: string;
  readonly signature: string;
}

export interface Call {
  readonly tool: string;
  readonly input: unknown;
  readonly id: string;
}

export const PROTOCOLS: readonly Protocol[] = [openai, anthropic, google, compatible];
