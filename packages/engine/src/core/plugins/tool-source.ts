// Port for tool-source plugins, which add tools to an App. See docs/guides/write-a-plugin.md.

import type { z } from "zod";
import type { JsonValue } from "../json.ts";
import type { Clock } from "../ports/driven/clock.ts";
import type { Logger } from "../ports/driven/logger.ts";
import type { SchemaCheck } from "../ports/driven/schema-check.ts";
import type { Tool, ToolContext, ToolEffect, ToolTurn } from "../ports/driven/tool.ts";
import { definePlugin, type Plugin, type PluginMetadata } from "./plugin.ts";

type CheckedInput = string | null | { readonly value: unknown };

export interface PluginTool {
  /** Name within the source. Models see `SOURCE_NAME`, with `_` in place of unsupported characters. */
  readonly name: string;
  /** Display name, truncated to 100 characters; `name` if absent. */
  readonly title?: string | undefined;
  readonly description: string;
  /** Schema of the input object: zod, another Standard Schema, or JSON Schema. */
  readonly inputSchema: unknown;
  /** Effect of a repeated call; `unsafe` if absent. The App's `effects` take precedence. */
  readonly effect?: ToolEffect | undefined;
  /** Whether a person must approve calls; `never` if absent. The App's `approvals` take precedence. */
  readonly approval?: "always" | "never" | undefined;
  /**
   * Runs one call and returns JSON, or is an async generator that yields progress and returns the result. The model
   * sees the message of a thrown Error.
   */
  execute(input: never, context: ToolContext): unknown;
  /** See `Tool.ask`. */
  readonly ask?: Tool["ask"] | undefined;
  /** Validates the input instead of `inputSchema`. Returns an error message for the model, `null`, or the value to pass to `execute`. */
  readonly checkInput?: ((input: unknown) => CheckedInput | Promise<CheckedInput>) | undefined;
  /** Removes secrets from the results, progress and errors of a call. By default, removes the values of `{{env.NAME}}`. */
  readonly scrub?: ((value: JsonValue) => JsonValue) | undefined;
}

/** Defines a tool, and infers the type of its input from the zod schema. */
export function defineTool<Schema extends z.ZodType>(
  tool: Omit<PluginTool, "inputSchema" | "execute"> & {
    readonly inputSchema: Schema;
    execute(input: z.output<Schema>, context: ToolContext): unknown;
  },
): PluginTool {
  return tool;
}

/** Context in which a source lists its tools. */
export interface SourceScope {
  readonly turn: ToolTurn;
  /** Aborts when the turn stops waiting for the tools. */
  readonly signal: AbortSignal;
  /** Returns the user's value for a secret slot, like `ToolContext.secret`. */
  secret(name: string): string;
}

/** A tool source of one App, created on first use. */
export interface PluginSource {
  /**
   * Returns the current tools. Must return the same objects while they are unchanged. If it rejects or takes longer than
   * 5 seconds, the turn continues with a placeholder tool that explains the failure to the model.
   */
  tools(scope: SourceScope): readonly PluginTool[] | Promise<readonly PluginTool[]>;
  /** Tools omitted from the latest list, each with its reason, for operators. */
  readonly omitted?: readonly string[];
  /** Closes all connections. */
  close?(): void | Promise<void>;
}

/**
 * Thrown if the tools of a source cannot be listed. The model sees the message. Recognized by its `name`, because a
 * plugin may have its own copy of this package.
 */
export class ToolsUnavailable extends Error {
  /** True if the problem affects only the current user. */
  readonly isClientSpecific: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isClientSpecific?: boolean } = {}) {
    super(message, options);
    this.name = "ToolsUnavailable";
    this.isClientSpecific = options.isClientSpecific === true;
  }
}

export function isToolsUnavailable(error: unknown): error is ToolsUnavailable {
  return error instanceof Error && error.name === "ToolsUnavailable";
}

/** Like `fetch`, but rejects private addresses except the configured one. See docs/adr/0010-outbound-guard.md. */
export type GuardedFetch = (
  url: string | URL,
  init: Pick<RequestInit, "method" | "headers"> & { readonly body?: string | null },
  options: {
    /** URL whose origin may be private or loopback; `null` for none. */
    readonly allowPrivate: string | null;
    /** Maximum decompressed bytes of the response body. */
    readonly maxBytes: number;
    /** Maximum milliseconds from the call to the end of the response body. */
    readonly timeoutMs: number;
    /** Aborts the request, including its response body. */
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

/** Services that `create` receives in addition to the settings. */
export interface SourceContext {
  readonly app: string;
  /** Prefix of the tool names: the name of the plugin, or of the entry if the plugin has `entries`. */
  readonly name: string;
  /** Directory of the configuration file, for relative paths. */
  readonly directory: string;
  /** Adds the App and the source to each line. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Sends requests to untrusted URLs, such as those of a model, a user or a fetched document. */
  readonly guardedFetch: GuardedFetch;
  /** Validates values against untrusted schemas. */
  readonly schemas: SchemaCheck;
}

/** Reports problems that a schema cannot express. `path` is relative to the section. */
export interface SourceFindings {
  readonly directory: string;
  /** Reports a problem that prevents the start. The message continues the setting's name ("must be …") or is a sentence. */
  problem(path: readonly PropertyKey[], message: string): void;
  warn(path: readonly PropertyKey[], message: string): void;
  /** Registers a file that the settings refer to, so that `colloquy dev` detects changes. Call it before reading the file. */
  file(path: string): void;
}

/** Placeholders allowed per setting. `env`: `{{env.NAME}}`; `secret`: also `{{secret.NAME}}`, which the source fills itself. */
export type Placeholders = Readonly<Record<string, "env" | "secret">>;

export interface ToolSourceDefinition<
  Name extends string,
  Settings extends z.ZodType,
  Entries extends boolean,
> extends PluginMetadata {
  /** Name of the section in an App, and prefix of the tool names. */
  readonly name: Name;
  /** Schema of the section; `describe` documents the settings. */
  readonly settings: Settings;
  /** True if the section contains several named sources: `{ "maps": {…}, "mail": {…} }`. */
  readonly entries?: Entries;
  /** Settings that may contain placeholders. By default, all may contain `{{env.NAME}}`. */
  readonly placeholders?: Placeholders | undefined;
  /** Description of the section for the documentation. */
  readonly description?: string | undefined;
  /** Checks settings beyond the schema when the configuration is read. */
  check?(settings: z.output<Settings>, findings: SourceFindings): void | Promise<void>;
  /** Returns the URLs that the source calls, for `colloquy doctor`. `isGuarded`: called with `guardedFetch`. */
  addresses?(settings: z.output<Settings>): readonly { readonly url: string; readonly isGuarded?: boolean }[];
  /** Creates a source. Called on first use, and again if it fails. */
  create(settings: z.output<Settings>, context: SourceContext): PluginSource | Promise<PluginSource>;
}

export interface ToolSourcePlugin<
  Name extends string = string,
  Settings extends z.ZodType = z.ZodType,
  Entries extends boolean = boolean,
> extends ToolSourceDefinition<Name, Settings, Entries> {
  readonly kind: "colloquy/tool-source";
}

/** Defines a plugin that adds tools to Apps, configured in the section `apps.<App>.<name>`. */
export function defineToolSource<
  const Name extends string,
  Settings extends z.ZodType,
  const Entries extends boolean = false,
>(definition: ToolSourceDefinition<Name, Settings, Entries>): ToolSourcePlugin<Name, Settings, Entries> {
  return definePlugin("tool-source", definition);
}

export function isToolSource(plugin: Plugin): plugin is ToolSourcePlugin {
  return plugin.kind === "colloquy/tool-source";
}
