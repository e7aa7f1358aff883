import type { JSONSchema7 } from "@ai-sdk/provider";
import type { JsonValue } from "../json.ts";
import type { Clock } from "./clock.ts";

/** What a repeated call does to the world: nothing, the same again under one key, or something new. */
export type ToolEffect = "read" | "idempotent" | "unsafe";

export interface ToolContext {
  /** The call's id: the same when the call is run again after a crash, so it serves as an idempotency key. */
  readonly callId: string;
  /** Aborted when the turn ends early or the tool's time is over. */
  readonly signal: AbortSignal;
  /** Reports progress; becomes a `tool_update` event. `value` must be JSON. */
  progress(value: unknown): void;
}

export interface Tool {
  /** 1 to 64 of `[a-zA-Z0-9_-]`, unique within an App. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JSONSchema7;
  readonly effect: ToolEffect;
  /**
   * Runs one call. `input` is what the model sent: parsed JSON, not yet validated; a tool checks it and
   * throws an Error whose message the model can act on. The resolved value must be JSON.
   */
  execute(input: unknown, context: ToolContext): Promise<unknown>;
}

export interface ToolCallOptions {
  readonly callId: string;
  /** How long the tool may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Aborted when the turn ends early: the call then answers at once, even when the tool does not listen. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Hears what the tool reports while it runs, never after the call has answered. Must not throw. */
  readonly onProgress?: (value: JsonValue) => void;
}

/** What a call came to. Text in it is clean, and it is at most 64 KiB of JSON. */
export interface ToolOutcome {
  readonly output: JsonValue;
  /** `output` is then a sentence that says what went wrong. */
  readonly isError: boolean;
}

/** The tools that an App's assistant may call. */
export interface ToolRegistry {
  /** Always the same array for an App; empty for an App without tools and for an unknown one. */
  toolsOf(app: string): readonly Tool[];
  /**
   * Runs one call. Never rejects: an unknown tool, input that does not fit its schema, an exception, a time-out, an abort and output
   * that is not JSON are outcomes with `isError`. After an abort the output is `outcome unknown` for a tool with effect `unsafe` that
   * had started, `interrupted` otherwise (contract section 2).
   */
  call(app: string, name: string, input: unknown, options: ToolCallOptions): Promise<ToolOutcome>;
}
