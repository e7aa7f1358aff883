// Sources of an App's tools: built-in tools, the configuration file, and remote servers. The registry merges
// them.

import type { JsonValue } from "../core/json.ts";
import type { Tool, ToolTurn } from "../core/ports/driven/tool.ts";
import type { InputCheck } from "./input-check.ts";

/** The turn for which tools are listed and called. */
export interface ToolScope {
  readonly turn: ToolTurn;
  /** Like `ToolContext.secret`: throws `SecretMissing` for a secret that is not set. */
  secret(name: string): string;
}

/** Describes tools that are currently unknown. */
export interface UnavailableTools {
  /** Prefix of their names, such as `weather_`. */
  readonly prefix: string;
  /** Why they cannot be used, as a sentence for the model. */
  readonly reason: string;
  /** Name of the missing secret that they need. */
  readonly missingSecret?: string;
  /** True if the problem concerns this client only, and not the source. */
  readonly isClientSpecific?: boolean;
}

/** A tool as its source provides it. The operator's configured effect takes precedence over its own. */
export interface SourceTool extends Tool {
  /** Checks input; absent if `inputSchema` does. */
  readonly checkInput?: InputCheck;
  /** Removes the source's own keys from everything that leaves a call. */
  readonly scrub?: (value: JsonValue) => JsonValue;
  /** Set on a stand-in for tools that are currently unknown. */
  readonly standsInFor?: UnavailableTools;
}

export interface ToolSource {
  /** Name for the log, such as `mcp weather`. */
  readonly label: string;
  /**
   * Returns the current tools, as the same array while they do not change. Omits servers that do not answer
   * within some seconds; `signal` ends the wait. Should not reject: the registry then skips this source.
   */
  list(scope: ToolScope, signal: AbortSignal): Promise<readonly SourceTool[]>;
  /** Marks the source as replaced. Running turns may still call its tools; unused connections are closed. */
  retire(): void;
  /** Closes all connections at once. */
  close(): Promise<void>;
}

/** A source as configured. A reload keeps the source, with its connections, if its key is unchanged. */
export interface SourcePlan {
  /** Digest of everything that the source is made from; `null` for a source that is recreated each time. */
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
