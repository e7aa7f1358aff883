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
  /** Whether calls need approval; `never` if absent. The App's `approvals` take precedence. */
  readonly approval?: "always" | "never";
  /** True if failed calls are logged: the tool is the operator's, or a plugin's. */
  readonly logsFailures?: boolean;
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
  /** Tools omitted from the latest list, each with its reason; absent for none. */
  readonly omitted?: readonly string[];
  /** Closes all connections at once. */
  close?(): Promise<void>;
}

/** A source whose tools never change. */
export function fixedSource(label: string, tools: readonly SourceTool[]): ToolSource {
  return { label, list: () => Promise.resolve(tools) };
}

/** Returns the output that users see in place of a tool's error message. */
export function shownFailure(tool: string): string {
  return `The tool ${tool} failed.`;
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
    isRemote: true,
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
    // The reason may contain hosts and paths, which users must not see.
    return {
      output,
      isError: true,
      ...(missingSecret === undefined ? { shown: shownFailure(name) } : { missingSecret }),
    };
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
  const name = safeName(server, tool);
  return name.length <= MAX_NAME_LENGTH ? name : withDigest(server, tool);
}

/**
 * Returns the names for all tools of a server. Where names become equal, a tool whose own name had to change ends in
 * a digest of it: its name then depends on no order, so that an approved call never runs another tool.
 */
export function toolNamesOf(server: string, tools: readonly string[]): readonly string[] {
  const names = tools.map((tool) => toolNameOf(server, tool));
  return tools.map((tool, index) => {
    const name = names[index] ?? "";
    const isShared = names.filter((other) => other === name).length > 1;
    return isShared && name !== `${server}_${tool}` ? withDigest(server, tool) : name;
  });
}

function safeName(server: string, tool: string): string {
  return `${server}_${tool}`.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function withDigest(server: string, tool: string): string {
  const digest = createHash("sha256").update(`${server}_${tool}`).digest("hex").slice(0, DIGEST_LENGTH);
  return `${safeName(server, tool).slice(0, MAX_NAME_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
}
