// Where tools of an App come from: what comes with the service, the configuration file, servers elsewhere. The registry joins them.

import type { JsonValue } from "../core/json.ts";
import type { Tool, ToolTurn } from "../core/ports/tool.ts";
import type { InputCheck } from "./input-check.ts";

/** For whom tools are listed and called. */
export interface ToolScope {
  readonly turn: ToolTurn;
  /** As `ToolContext.secret`: throws `SecretMissing` for an empty slot. */
  secret(name: string): string;
}

/** Tools that are not known now. */
export interface StoodFor {
  /** What their names begin with, such as `weather_`. */
  readonly prefix: string;
  /** Why they cannot be used, as a sentence for the model. */
  readonly reason: string;
  /** Slot of a secret that is missing for them. */
  readonly missingSecret?: string;
  /** Whether it is a matter of this client alone, and says nothing of the source. */
  readonly isOfClient?: boolean;
}

/** A tool as a source gives it. Its effect is what the source knows; what the operator says goes before it. */
export interface SourceTool extends Tool {
  /** How input is checked where that is not by `inputSchema`. */
  readonly checkInput?: InputCheck;
  /** Takes the source's own keys out of what leaves a call. */
  readonly scrub?: (value: JsonValue) => JsonValue;
  /** For a tool that stands for others while they are not known. */
  readonly standsFor?: StoodFor;
}

export interface ToolSource {
  /** For the log, such as `mcp weather`. */
  readonly label: string;
  /**
   * The tools now; the same array as long as nothing has changed. What does not answer within some seconds is left out (`signal` ends the
   * wait). Should not reject: the registry then goes on without this source.
   */
  list(scope: ToolScope, signal: AbortSignal): Promise<readonly SourceTool[]>;
  /** No new turn will ask for it. Turns that run may still call its tools; what is not used any more is closed. */
  retire(): void;
  /** Closes everything at once. */
  close(): Promise<void>;
}

/** A source as the settings describe it. A reload keeps the source whose key has stayed the same, with its connections. */
export interface SourcePlan {
  /** Says everything that the source is made from, without being readable; `null` for a source that is made anew each time. */
  readonly key: string | null;
  create(): ToolSource;
}

/** A source whose tools never change. */
export function fixedSource(label: string, tools: readonly SourceTool[]): SourcePlan {
  const source = {
    label,
    list: () => Promise.resolve(tools),
    retire: () => undefined,
    close: () => Promise.resolve(),
  };
  return { key: null, create: () => source };
}
