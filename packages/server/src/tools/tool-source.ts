// Sources of an App's tools: built-in tools, the configuration file, and remote servers.

import { createHash } from "node:crypto";
import type { JsonValue } from "../core/json.ts";
import type { Tool, ToolTurn, ToolContext, ToolOutcome } from "../core/ports/driven/tool.ts";
import type { InputCheck } from "./input-check.ts";

/** The turn that lists and calls tools. */
export interface ToolScope {
  readonly turn: ToolTurn;
  /** Like `ToolContext.secret`: throws `SecretMissing` for a secret that is not set. */
  secret(name: string): string;
}

/** Describes tools that are currently unknown. */
export interface UnavailableTools {
  /** Prefix of the tools' names, such as `weather_`. */
  readonly prefix: string;
  /** Why the tools cannot be used, as a sentence for the model. */
  readonly reason: string;
  /** Name of the missing secret that the tools need. */
  readonly missingSecret?: string;
  /** True if the problem concerns this client only, and not the source. */
  readonly isClientSpecific?: boolean;
}

/** A tool as its source provides it. The operator's configured effect takes precedence over its own. */
export interface SourceTool extends Tool {
  /** Checks the input; absent if `inputSchema` suffices. */
  readonly checkInput?: InputCheck;
  /** Removes the source's own keys from everything that leaves a call. */
  readonly scrub?: (value: JsonValue) => JsonValue;
  /** Set on a stand-in for tools that are currently unknown. */
  readonly standsInFor?: UnavailableTools;
}

export interface ToolSource {
  /** Name for the log, such as `mcp weather`. */
  readonly label: string;
  /** True for a built-in source that operators cannot configure. Reports omit it. */
  readonly isInternal?: boolean;
  /**
   * Returns the current tools, as the same array while they do not change. Omits servers that do not respond
   * within some seconds; `signal` ends the wait. Should not reject, because the toolset then skips this
   * source.
   */
  list(scope: ToolScope, signal: AbortSignal): Promise<readonly SourceTool[]>;
  /** Marks the source as replaced. Running turns may still call its tools; unused connections are closed. */
  retire?(): void;
  /** Closes all connections at once. */
  close?(): Promise<void>;
}

/** A source as configured. A reload keeps the source, with its connections, if its key is unchanged. */
export interface SourcePlan {
  /** Digest of all settings of the source; `null` for a source that is recreated at each reload. */
  readonly key: string | null;
  create(): ToolSource;
}

/** A source whose tools never change. */
export function fixedSource(label: string, tools: readonly SourceTool[]): SourcePlan {
  return { key: null, create: () => ({ label, list: () => Promise.resolve(tools) }) };
}

interface StandInOptions extends UnavailableTools {
  /** Rejects with the reason if the tools still cannot be used. */
  readonly look: (context: ToolContext) => Promise<void>;
}

/**
 * Creates a placeholder for the tools of a server while they are unknown. It tells the model why they are missing, so that
 * the model does not conclude that they never existed.
 */
export function createStandIn({ look, ...standsInFor }: StandInOptions): SourceTool {
  const { prefix, reason } = standsInFor;
  return {
    name: `${prefix}unavailable`,
    standsInFor,
    description: `The tools whose names begin with "${prefix}" cannot be used now. ${reason} Call this when they are needed: it tells whether they are back.`,
    inputSchema: { type: "object", properties: {} },
    effect: "read",
    async execute(_input, context) {
      await look(context);
      return "The tools can be used again. They are there from the next message on.";
    },
  };
}

/**
 * Returns the error for a call of a missing tool that a stand-in represents; `null` if none represents it.
 */
export function standInAnswer(
  name: string,
  byName: ReadonlyMap<string, { readonly tool: SourceTool }>,
): ToolOutcome | null {
  for (const { tool } of byName.values()) {
    if (tool.standsInFor === undefined || !name.startsWith(tool.standsInFor.prefix)) continue;
    const { prefix, reason, missingSecret } = tool.standsInFor;
    const output = `The tool was not called: those whose names begin with "${prefix}" cannot be used in this answer. ${reason} ${tool.name} tells whether they are back.`;
    return { output, isError: true, ...(missingSecret !== undefined && { missingSecret }) };
  }
  return null;
}

const MAX_NAME_LENGTH = 64;
const DIGEST_LENGTH = 8;

/**
 * Returns the model's name for a tool of a server: `SERVER_TOOL`. Characters that providers do not accept
 * become `_`. A name that is too long ends in a digest of the whole name, which keeps it stable and unique.
 */
export function toolNameOf(server: string, tool: string): string {
  const whole = `${server}_${tool}`;
  const name = whole.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  if (name.length <= MAX_NAME_LENGTH) return name;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, DIGEST_LENGTH);
  return `${name.slice(0, MAX_NAME_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
}
