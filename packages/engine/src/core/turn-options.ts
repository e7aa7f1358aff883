import type { JsonObject } from "./json.ts";

/** Options of a chat besides its text. Absent fields were not requested. */
export interface TurnOptions {
  /** Tools that the client offers for this turn and runs itself, by name. */
  readonly clientTools?: Readonly<Record<string, ClientTool>>;
  /** JSON Schema that the answer must match. */
  readonly responseSchema?: JsonObject;
  /** Instructions of the client for this turn, which follow those of the App. */
  readonly instructions?: string;
  /** How the model picks words; the provider's defaults when absent. */
  readonly sampling?: Sampling;
  /** Whether the model calls tools; it decides when absent. */
  readonly toolChoice?: ToolChoice;
  /** What a protocol remembers about the request. Kept after the end of the turn, unlike the other options. */
  readonly note?: JsonObject;
}

/**
 * No calls in the whole turn, or a call of any tool or of this one in its first step. Later steps are free, because a
 * model that must call a tool in each step would never answer.
 */
export type ToolChoice = "none" | "required" | { readonly tool: string };

/** Settings of a model call. A provider may refuse them for a model. */
export interface Sampling {
  /** 0 to 2. */
  readonly temperature?: number;
  /** 0 to 1. */
  readonly topP?: number;
  /** Maximum tokens of each model call of the turn. */
  readonly maxOutputTokens?: number;
}

/** A tool that runs in the client. */
export interface ClientTool {
  readonly description: string;
  /** JSON Schema of its input. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Milliseconds in which a client must give the result; the limit for actions when absent. */
  readonly timeoutMs?: number | undefined;
  /** True if another client may run a call after the first client's claim has expired. */
  readonly repeatable?: boolean | undefined;
}
