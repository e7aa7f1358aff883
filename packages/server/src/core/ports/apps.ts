// Apps at run time: what sessions and turns need to know of them. An App's name is part of the wire; what it may use is not.

import type { AppDescriptor } from "@colloquy/protocol";
import type { OnBusy } from "../decisions/chat.ts";

export interface AppDefinition {
  readonly name: string;
  /** Rigs (`provider/model`), at least one; the first is the default. */
  readonly models: readonly [string, ...string[]];
  /** Rig for titles and summaries, unless a session has chosen another. */
  readonly utilityModel: string;
  /** What the assistant is told before every conversation, `null` for nothing. */
  readonly instructions: string | null;
  /** Names of the tools that its assistant may call. */
  readonly tools: readonly string[];
  readonly onBusy: OnBusy;
  readonly expiry: {
    /** Milliseconds that an empty session is kept after its last use. */
    readonly emptyMs: number;
    /** Milliseconds that a session without a wallet is kept after its last use. */
    readonly unboundMs: number;
  };
  /** What the list of Apps shows. */
  readonly descriptor: AppDescriptor;
}

export interface AppCatalog {
  /** `default` first, the others in the order of the configuration. */
  names(): readonly string[];
  /** The App, always the same object; `null` when there is none of that name. */
  get(name: string): AppDefinition | null;
}
