import type { JSONSchema7 } from "@ai-sdk/provider";
import type { ActionRequest } from "../../action.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import type { Clock } from "./clock.ts";

/** What a repeated call does to the world: nothing, the same again under one key, or something new. */
export type ToolEffect = "read" | "idempotent" | "unsafe";

/** Whose turn a tool works for. */
export interface ToolTurn {
  readonly app: string;
  /** The `client_id` of the chat: decides whose secrets its tools may use. */
  readonly clientId: string | null;
  readonly publicKey: string | null;
  /** As the client claims it, not verified. */
  readonly userState: JsonObject | null;
}

export interface ToolContext {
  /**
   * The call's id in the world: no other call of any session has it, and it is the same when the call is run again after a crash, so it
   * serves as an idempotency key. Not the id that the model has given the call.
   */
  readonly callId: string;
  /** Aborted when the turn ends early or the tool's time is over. */
  readonly signal: AbortSignal;
  readonly turn: ToolTurn;
  /** Reports progress; becomes a `tool_update` event. `value` must be JSON. */
  progress(value: unknown): void;
  /**
   * The value that the turn's client has put into a slot of the App. Throws `SecretMissing` when the slot is empty: a tool lets that
   * pass, and the call's result then names the slot. Throws an Error for a slot that the App does not declare.
   */
  secret(name: string): string;
}

/** Thrown by `ToolContext.secret`; the registry makes a result and a notice of it. */
export class SecretMissing extends Error {
  readonly slot: string;

  constructor(slot: string) {
    super(
      `This tool needs the secret "${slot}", and none is set. Tell the user to set "${slot}" in the App's settings.`,
    );
    this.name = "SecretMissing";
    this.slot = slot;
  }
}

/** What a model is told of a tool, and what recovery needs to know of it. */
export interface ToolDefinition {
  /** 1 to 64 of `[a-zA-Z0-9_-]`, unique within an App. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JSONSchema7;
  readonly effect: ToolEffect;
}

export interface Tool extends ToolDefinition {
  /**
   * What a person is asked before the call, `null` for nothing. `input` fits the schema. What is asked with a kind other than `approval`
   * is answered by the person alone: `execute` is then never called. One that fails has the person asked for approval. Absent for a tool
   * that never asks.
   */
  ask?(input: unknown, turn: ToolTurn): ActionRequest | null | Promise<ActionRequest | null>;
  /**
   * Runs one call. `input` is what the model sent: parsed JSON, not yet validated; a tool checks it and
   * throws an Error whose message the model can act on. The resolved value must be JSON.
   */
  execute(input: unknown, context: ToolContext): Promise<unknown>;
}

export interface ToolCallOptions {
  /** Becomes `ToolContext.callId`. */
  readonly callId: string;
  /** The input as it was judged (`CallVerdict.input`, else the arguments): the call runs with that or not at all. Absent where nobody has judged it. */
  readonly judged?: JsonValue;
  /** How long the tool may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Aborted when the turn ends early: the call then answers at once, even when the tool does not listen. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Hears what the tool reports while it runs, never after the call has answered. Must not throw. */
  readonly onProgress?: (value: JsonValue) => void;
}

/** What a call came to. Text in it is clean, holds no secret of the turn's client, and is at most 64 KiB of JSON. */
export interface ToolOutcome {
  readonly output: JsonValue;
  /** `output` is then a sentence that says what went wrong. */
  readonly isError: boolean;
  /** Slot of a secret that the call found empty: the person is told by a notice. */
  readonly missingSecret?: string;
}

/**
 * What may become of a call. It is stored with the step that makes the call, and nothing else may become of it, whatever the tools are
 * like when it runs. `input`: what the tool's schema makes of the arguments, where that is something else.
 */
export type CallVerdict =
  /** Nobody is asked. */
  | { readonly kind: "runs"; readonly input?: JsonValue }
  /** A person is asked before. */
  | { readonly kind: "asks"; readonly request: ActionRequest; readonly input?: JsonValue }
  /** It is never made; the outcome says why. */
  | ({ readonly kind: "refused" } & ToolOutcome);

/** The tools of one turn. */
export interface TurnTools {
  /** Always the same array. */
  readonly definitions: readonly ToolDefinition[];
  /**
   * Judges a call before its step is stored. Never rejects: a rule that fails asks for approval; a tool that is not there and input that
   * does not fit its schema are refused. Secrets are scrubbed from what is asked; where that would change what a wallet does, the call
   * is refused. So is one about which a person would be asked with more than 64 KiB of JSON.
   */
  judge(name: string, input: unknown): Promise<CallVerdict>;
  /**
   * Runs one call that was judged. Never rejects: an unknown tool, input that does not fit its schema, an exception, a time-out, an abort and output
   * that is not JSON are outcomes with `isError`. After an abort the output is `outcome unknown` for a tool with effect `unsafe` that
   * had started, `interrupted` otherwise (contract section 2).
   */
  call(name: string, input: unknown, options: ToolCallOptions): Promise<ToolOutcome>;
}

/** The tools that each App's assistant may call. */
export interface ToolRegistry {
  /**
   * The tools of a turn that begins or goes on. Never rejects; none for an App without tools and for an unknown one. What a server
   * that does not answer would add is left out after some seconds (`signal` ends the wait).
   */
  open(turn: ToolTurn, signal: AbortSignal): Promise<TurnTools>;
}
