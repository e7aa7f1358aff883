import type { JSONSchema7 } from "@ai-sdk/provider";
import type { AdminToolSource } from "@colloquy/protocol";
import type { ActionRequest, Approvers } from "../../action.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import type { TurnOptions } from "../../turn-options.ts";
import type { Clock } from "./clock.ts";

/**
 * Effect of a repeated call: none for `read`, none beyond the first call with the same idempotency key for
 * `idempotent`, another one for `unsafe`.
 */
export type ToolEffect = "read" | "idempotent" | "unsafe";

/** The turn that calls a tool. */
export interface ToolTurn {
  readonly app: string;
  /** The rig (`provider/model`) that calls the tool. */
  readonly model: string;
  /** The `client_id` of the chat, whose secrets the tools may use. */
  readonly clientId: string | null;
  /** Address of the wallet that the session is bound to. */
  readonly publicKey: string | null;
  /**
   * The proved wallet at that address: `eip155:<chain>:<address>` for a contract, which others may own on
   * other chains. `null` if unknown.
   */
  readonly walletId: string | null;
  /** True if the user has signed in with the wallet (EIP-4361); otherwise it is an unverified claim of the client. */
  readonly walletProved: boolean;
  /** Claimed by the client, not verified. */
  readonly userState: JsonObject | null;
  /** Options of the chat besides its text. */
  readonly options?: TurnOptions;
}

/** A file that a tool returns. */
export interface ToolFile {
  readonly data: Uint8Array;
  /** The tool's claim, for text. The type of an image, a PDF or a recording is detected. */
  readonly mediaType?: string | undefined;
  /** File name; a default name if absent. */
  readonly name?: string | undefined;
}

export interface ToolContext {
  /**
   * A globally unique id that stays the same after a crash, for use as an idempotency key. Not the model's id
   * of the call.
   */
  readonly callId: string;
  /** What a repeated call does: the App's setting, or else what the tool declares. */
  readonly effect: ToolEffect;
  /** Aborted when the turn ends early or the call times out. */
  readonly signal: AbortSignal;
  readonly turn: ToolTurn;
  /** Reports progress; becomes a `tool_update` event. `value` must be JSON. */
  progress(value: unknown): void;
  /**
   * Adds a file to the result, for the model and the user. A file that the service does not accept becomes a
   * sentence of the result. The files of a call that fails are dropped. Throws a TypeError if `data` is no
   * `Uint8Array`.
   */
  attach(file: ToolFile): void;
  /**
   * Returns the client's value of a slot. Throws `SecretMissing` if the slot is empty, which a tool must not
   * catch: the call's result then names the slot. Throws an Error for a slot that the App does not declare.
   */
  secret(name: string): string;
}

/** Thrown by `ToolContext.secret`; the toolset turns it into a result and a notice. */
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

/** A tool as models and recovery see it. */
export interface ToolDefinition {
  /** Name of 1 to 64 characters of `[a-zA-Z0-9_-]`, unique within an App. */
  readonly name: string;
  /** Name for people, which the calls on the wire have; absent for none. */
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JSONSchema7;
  readonly effect: ToolEffect;
  /** True for a tool that a server lists. The first to be left out where a provider takes fewer tools. */
  readonly isRemote?: boolean;
}

export interface Tool extends ToolDefinition {
  /**
   * Returns the request to a person before the call, `null` for none; `input` fits the schema. If its kind is
   * not `approval`, the person's answer is the result and `execute` is never called. If this method fails,
   * the person is asked for approval.
   */
  ask?(input: unknown, turn: ToolTurn): ActionRequest | null | Promise<ActionRequest | null>;
  /**
   * Runs one call and resolves with JSON. `input` is parsed JSON from the model, not validated; the tool
   * checks it and throws an Error whose message the model can act on.
   */
  execute(input: unknown, context: ToolContext): Promise<unknown>;
}

export interface ToolCallOptions {
  /** Becomes `ToolContext.callId`. */
  readonly callId: string;
  /** The input of the policy decision, with which the call must run. Absent if there was no decision. */
  readonly decidedInput?: JsonValue;
  readonly timeoutMs: number;
  /** Aborted when the turn ends early: the call then returns at once, even if the tool ignores it. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Called with the tool's progress until the call returns. Must not throw. */
  readonly onProgress?: (value: JsonValue) => void;
}

/** The outcome of a call: clean text without the client's secrets, at most 64 KiB of JSON. */
export interface ToolOutcome {
  readonly output: JsonValue;
  /** If true, `output` is a sentence that describes the problem. */
  readonly isError: boolean;
  /** Output that users see if it differs from `output`, which the model sees. */
  readonly shown?: string;
  /** An empty secret slot that the call needs; reported to the user in a notice. */
  readonly missingSecret?: string;
}

/** The outcome of a call that ran. */
export interface CallOutcome extends ToolOutcome {
  /** Files of the result, without the client's secrets; absent for none. */
  readonly files?: readonly ToolFile[];
}

/** Settings of an approval that differ from the defaults. */
export interface AskingTerms {
  /** Milliseconds until expiry; absent for the default. */
  readonly validMs?: number;
  /** Milliseconds until the reminder; absent for half of the time until expiry. */
  readonly remindMs?: number;
  readonly approvers?: Approvers;
}

/**
 * The decision on a call before it runs. Stored with its step, and final even if the tools change later.
 * `input` is the input as parsed by the tool's schema, if it differs from the arguments.
 */
export type PolicyDecision =
  | { readonly kind: "allow"; readonly input?: JsonValue }
  /** A person must decide before the call runs. */
  | {
      readonly kind: "ask";
      readonly request: ActionRequest;
      readonly input?: JsonValue;
      /** Absent for the default time limit and no approvers. */
      readonly terms?: AskingTerms;
    }
  /** The call never runs; the outcome says why. */
  | ({ readonly kind: "deny" } & ToolOutcome);

/** The tools of one turn. Implemented by `ToolsOfTurn` (tools/toolset.ts). */
export interface TurnTools {
  /** The same array at each access. */
  readonly definitions: readonly ToolDefinition[];
  /**
   * Makes the policy decision on a call before its step is stored. Never rejects: if a rule fails, a person
   * is asked. Denies calls of unknown tools, input that violates the schema, and requests to a person of more
   * than 64 KiB of JSON. Scrubs secrets from requests, and denies a wallet request that this would change.
   */
  decide(name: string, input: unknown): Promise<PolicyDecision>;
  /**
   * Runs one call after its policy decision. Never rejects: an unknown tool, invalid input, an exception, a
   * timeout, an abort and output that is not JSON are outcomes with `isError`. After an abort the output is
   * `outcome unknown` for an `unsafe` tool that had started, else `interrupted` (contract section 2).
   */
  call(name: string, input: unknown, options: ToolCallOptions): Promise<CallOutcome>;
}

/** The tools of all Apps. Implemented by `AppTools` (tools/toolset.ts), like the two ports below. */
export interface Toolset {
  /**
   * Returns the tools of a turn; none for an unknown App. Never rejects. Omits the tools of servers that do
   * not respond within seconds.
   */
  open(turn: ToolTurn, signal: AbortSignal): Promise<TurnTools>;
}

/** Results of calls that ran in the client. */
export interface ClientResults {
  /**
   * Returns the result as that of a tool would be stored: clean text without the client's secrets, at most 64
   * KiB of JSON. `result` is `{output}` or `{error}`. Never rejects.
   */
  cleanResult(turn: Pick<ToolTurn, "app" | "clientId">, result: JsonObject): Promise<JsonObject>;
}

/** The last known state of each tool source. */
export interface ToolSourceReports {
  /** Loads the tools of an App's sources for a turn without a client. Never rejects. */
  refresh(app: string): Promise<void>;
  /** Returns the sources of an App's tools in order; none for an App that is not configured. */
  sources(app: string): readonly AdminToolSource[];
}

/** An entry of `approvals` or `effects` for a tool that its source does not list. */
export interface UnknownTool {
  readonly section: "approvals" | "effects";
  readonly tool: string;
  /** Label of the source. */
  readonly source: string;
  /** Name of the source's tool that may be meant; `null` if none is close. */
  readonly nearest: string | null;
}

/** A source and its tools, for `colloquy check` and `doctor`. */
export interface ExaminedSource extends AdminToolSource {
  readonly rules: readonly {
    readonly name: string;
    readonly effect: ToolEffect;
    readonly approval: "always" | "never" | "function";
  }[];
  readonly unknown: readonly UnknownTool[];
}
