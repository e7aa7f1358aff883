// Adapts plugin sources: tool names and schemas, and placeholder tools for sources that fail.

import type { JSONSchema7 } from "@ai-sdk/provider";
import type { SourceSettings } from "../core/app-settings.ts";
import { isJsonObject, type JsonValue, cleanText } from "../core/json.ts";
import {
  isToolsUnavailable,
  type PluginSource,
  type PluginTool,
  type SourceContext,
  type SourceScope,
  ToolsUnavailable,
} from "../core/plugins/tool-source.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { SecretMissing, type ToolContext } from "../core/ports/driven/tool.ts";
import { within } from "../core/waiting.ts";
import { messageOf } from "./call-tool.ts";
import { readOwnInput, resultOf } from "./own/own-tool.ts";
import { createScrubber, scrubText, type Scrubber } from "./scrub.ts";
import { keysInVariables } from "./secret-headers.ts";
import { createServerCheck } from "./server-schema.ts";
import {
  createStandIn,
  type SourceTool,
  toolNameOf,
  toolNamesOf,
  type ToolScope,
  type ToolSource,
  type UnavailableTools,
} from "./tool-source.ts";
import { titleOf } from "./tool-title.ts";

/** Maximum milliseconds that a turn waits for the tools of a source. */
const LIST_MS = 5_000;
/** Maximum tools per source. Each tool is sent with every model call, and models choose poorly among more. */
const MAX_TOOLS = 128;
const MAX_REASON = 500;

export type PluginSourceParts = Omit<SourceContext, "name" | "directory">;

/** Returns a plugin's source, which is created on first use. */
export function pluginToolSource(settings: SourceSettings, parts: PluginSourceParts): ToolSource {
  return new AdaptedSource(settings, parts);
}

type Listed = readonly SourceTool[];

class AdaptedSource implements ToolSource {
  readonly label: string;
  readonly #settings: SourceSettings;
  readonly #parts: PluginSourceParts;
  readonly #scrub: Scrubber;
  #source: Promise<PluginSource> | null = null;
  /** True while a list is overdue, so that later turns do not wait for it. */
  #isLate = false;
  #isClosed = false;
  readonly #adapted = new WeakMap<PluginTool, { readonly name: string; readonly tools: Promise<Listed> }>();
  #opened: PluginSource | null = null;
  #omitted: string[] = [];
  readonly #lists = new Map<string, Listed>();
  #last: { readonly listed: readonly PluginTool[]; readonly tools: Promise<Listed> } | null = null;

  constructor(settings: SourceSettings, parts: PluginSourceParts) {
    this.label = settings.label;
    this.#settings = settings;
    this.#parts = parts;
    this.#scrub = createScrubber(keysInVariables(settings.secrets.reveal()));
  }

  get omitted(): readonly string[] {
    return [...(this.#opened?.omitted ?? []), ...this.#omitted];
  }

  async list(scope: ToolScope, signal: AbortSignal): Promise<Listed> {
    if (this.#isLate) return this.#standIn({ reason: this.#lateReason() });
    const { clock } = this.#parts;
    const listing = this.#listed({ turn: scope.turn, secret: (name) => scope.secret(name), signal });
    const listed = await within(listing, null, { clock, ms: LIST_MS, signal });
    if (listed !== null) return listed;
    if (!signal.aborted) {
      this.#isLate = true;
      void listing.finally(() => (this.#isLate = false));
    }
    return this.#standIn({ reason: this.#lateReason() });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const source = await this.#source?.catch(ignore);
    await source?.close?.();
  }

  /** Lists the tools, or a placeholder with the reason. Never rejects. */
  async #listed(scope: SourceScope): Promise<Listed> {
    try {
      return await this.#adapt(await this.#listTools(scope));
    } catch (error) {
      return this.#standIn(this.#reasonOf(error));
    }
  }

  async #listTools(scope: SourceScope): Promise<readonly PluginTool[]> {
    const { plugin, name, directory, settings } = this.#settings;
    if (this.#isClosed) throw new ToolsUnavailable("The service is stopping.");
    const { app, logger } = this.#parts;
    const context = {
      ...this.#parts,
      name,
      directory,
      logger: withFields(logger, { app, source: this.label }),
    };
    const create = async (): Promise<PluginSource> => plugin.create(settings.reveal(), context);
    if (this.#source === null) {
      const created = create();
      this.#source = created;
      // Forget a failure, so that the next turn retries.
      created.catch(() => (this.#source = null));
    }
    const source = await this.#source;
    this.#opened = source;
    return await source.tools(scope);
  }

  #reasonOf(error: unknown): Omit<UnavailableTools, "prefix"> {
    if (error instanceof SecretMissing)
      return {
        reason: `The user has not set the secret "${error.slot}".`,
        missingSecret: error.slot,
        isClientSpecific: true,
      };
    const message = scrubText(this.#scrub, cleanText(messageOf(error))).slice(0, MAX_REASON);
    if (isToolsUnavailable(error)) return { reason: message, isClientSpecific: error.isClientSpecific };
    return { reason: `Their source has failed: ${message.replace(/[.\s]*$/, ".")}` };
  }

  #lateReason(): string {
    return "Their source does not list them in time.";
  }

  /** Adapts the tools. Returns the same list for the same tools. */
  async #adapt(listed: readonly PluginTool[]): Promise<Listed> {
    const last = this.#last;
    const isSame =
      last?.listed.length === listed.length && listed.every((tool, index) => tool === last.listed[index]);
    if (last !== null && isSame) return await last.tools;
    const tools = this.#adaptAll(listed);
    this.#last = { listed: [...listed], tools };
    return await tools;
  }

  async #adaptAll(listed: readonly PluginTool[]): Promise<Listed> {
    this.#omitted = [];
    if (listed.length > MAX_TOOLS) this.#omit("*", `only the first ${MAX_TOOLS} tools are used`);
    const usable = listed.slice(0, MAX_TOOLS);
    const names = toolNamesOf(
      this.#settings.name,
      usable.map(({ name }) => name),
    );
    const adapted = await Promise.all(
      usable.map(async (tool, index) => {
        const name = names[index] ?? "";
        const cached = this.#adapted.get(tool);
        if (cached?.name === name) return await cached.tools;
        const tools = this.#adaptOne(tool, name);
        this.#adapted.set(tool, { name, tools });
        return await tools;
      }),
    );
    return adapted.flat();
  }

  /** Returns an empty list if the tool is invalid. */
  async #adaptOne(tool: PluginTool, name: string): Promise<Listed> {
    try {
      return [await this.#readTool(tool, name)];
    } catch (error) {
      this.#omit(tool.name, messageOf(error));
      return [];
    }
  }

  async #readTool(tool: PluginTool, name: string): Promise<SourceTool> {
    const { title, description, effect = "unsafe", approval = "never", ask, scrub = this.#scrub } = tool;
    const { inputSchema, checkInput } = isJsonSchema(tool.inputSchema)
      ? {
          inputSchema: tool.inputSchema,
          checkInput: createServerCheck(name, tool.inputSchema as JsonValue, this.#parts.schemas),
        }
      : await readOwnInput(name, tool.inputSchema, await import("ai"));
    return {
      name,
      ...titleOf(title === undefined ? undefined : scrubText(this.#scrub, title)),
      description: scrubText(this.#scrub, description),
      inputSchema,
      effect,
      approval,
      isRemote: true,
      logsFailures: true,
      scrub,
      checkInput: tool.checkInput ?? checkInput,
      ...(ask !== undefined && { ask: (input, turn) => ask.call(tool, input, turn) }),
      execute: async (input, context) => await resultOf(tool.execute(input as never, context), context),
    };
  }

  #omit(tool: string, reason: string): void {
    const fields = { source: this.label, tool: tool.slice(0, 100), reason: scrubText(this.#scrub, reason) };
    this.#parts.logger.warn(fields, "a tool of a source is omitted");
    this.#omitted.push(`${fields.tool} (${fields.reason})`);
  }

  /** Returns a list with a placeholder tool; the same list for the same reason. */
  #standIn(unavailable: Omit<UnavailableTools, "prefix">): Listed {
    const key = JSON.stringify(unavailable);
    const cached = this.#lists.get(key);
    if (cached !== undefined) return cached;
    const look = async (context: ToolContext): Promise<void> => {
      await this.#listTools(context).catch((error: unknown) => {
        if (error instanceof SecretMissing) throw error;
        throw new Error(`${this.#reasonOf(error).reason} Nothing was called.`);
      });
    };
    const list = [createStandIn({ prefix: toolNameOf(this.#settings.name, ""), ...unavailable, look })];
    // Bounds the cache: error messages may differ on each failure.
    if (this.#lists.size >= MAX_TOOLS) this.#lists.clear();
    this.#lists.set(key, list);
    return list;
  }
}

/** Returns a logger that adds the fields to each line. */
function withFields(logger: Logger, added: object): Logger {
  const at = (level: keyof Logger) => (fields: object, message: string) =>
    logger[level]({ ...added, ...fields }, message);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Returns true for JSON Schema; false for a schema object of a library. */
function isJsonSchema(schema: unknown): schema is JSONSchema7 {
  return isJsonObject(schema) && !("~standard" in schema) && !("jsonSchema" in schema) && !("_zod" in schema);
}

function ignore(): undefined {
  return undefined;
}
