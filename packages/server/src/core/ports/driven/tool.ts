import type { JSONSchema7 } from "@ai-sdk/provider";
import type { AdminToolSource } from "@colloquy/protocol";
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
  /** The input of the policy decision: the call runs with it or not at all. Absent if there was no decision. */
  readonly decidedInput?: JsonValue;
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
 * What happens to a call before it runs. Stored with its step, and final even if the tools change before the call runs. `input` is the
 * input after the tool's schema, if it differs from the arguments.
 */
export type PolicyDecision =
  | { readonly kind: "allow"; readonly input?: JsonValue }
  /** A person must decide first. */
  | { readonly kind: "ask"; readonly request: ActionRequest; readonly input?: JsonValue }
  /** The call never runs; the outcome says why. */
  | ({ readonly kind: "deny" } & ToolOutcome);

/** The tools of one turn. */
export interface TurnTools {
  /** Always the same array. */
  readonly definitions: readonly ToolDefinition[];
  /**
   * Makes the policy decision on a call before its step is stored. Never rejects: if a rule fails, a person is asked. Denies calls of
   * unknown tools, input that violates the schema, and requests to a person of more than 64 KiB of JSON. Scrubs secrets from requests,
   * and denies a wallet request that this would change.
   */
  decide(name: string, input: unknown): Promise<PolicyDecision>;
  /**
   * Runs one call after its policy decision. Never rejects: an unknown tool, input that does not fit its schema, an exception, a time-out, an abort and output
   * that is not JSON are outcomes with `isError`. After an abort the output is `outcome unknown` for a tool with effect `unsafe` that
   * had started, `interrupted` otherwise (contract section 2).
   */
  call(name: string, input: unknown, options: ToolCallOptions): Promise<ToolOutcome>;
}

/** The tools of all Apps. */
export interface Toolset {
  /**
   * The tools of a turn that begins or goes on. Never rejects; none for an App without tools and for an unknown one. What a server
   * that does not answer would add is left out after some seconds (`signal` ends the wait).
   */
  open(turn: ToolTurn, signal: AbortSignal): Promise<TurnTools>;
}

/** The last known state of each tool source, for operators. */
export interface ToolSourceReports {
  /** Returns the sources of an App's tools in order; none for an App that is not configured. */
  sources(app: string): readonly AdminToolSource[];
}
