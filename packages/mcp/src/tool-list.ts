// Caches a server's tool list: keeps it while the server is down, and refreshes it when the server announces
// a change.

import { isDeepStrictEqual } from "node:util";
import type { Client, Tool as ListedTool } from "@modelcontextprotocol/client";
import type { Clock, JsonValue } from "@colloquy/engine/tool-source";
import { NO_TIMEOUT_MS } from "./open-client.ts";
import { NoAnswerInTime } from "./mcp-failure.ts";
import { omissionReason } from "./normalize-message.ts";
import { headerProblem } from "./parameter-headers.ts";

const MAX_PAGES = 64;
/** Maximum tools per server. Models choose badly among more, and each tool is sent with every model call. */
const MAX_TOOLS = 128;
/** Maximum size of one tool's JSON in characters. */
const MAX_TOOL_LENGTH = 64 * 1_024;
/** Maximum milliseconds for fetching all pages of a list. */
const LIST_MS = 15_000;
/** Minimum milliseconds between two fetches, for servers that keep announcing changes. */
const PAUSE_MS = 1_000;
/** Maximum age of a list in milliseconds, because an announcement may get lost. */
const STALE_MS = 5 * 60_000;

export interface ToolListOptions {
  readonly clock: Clock;
  /** Called if tools are dropped, because there are too many or one is too large. */
  readonly onOmitted: (reason: string) => void;
  readonly onFailure: (error: unknown) => void;
}

export class ToolList {
  readonly #options: ToolListOptions;
  #tools: readonly ListedTool[] | null = null;
  #omitted: readonly string[] = [];
  #fetchedAt = 0;
  #fetching = false;
  /** True if a change was announced while a list was being fetched. */
  #isOutdated = false;

  constructor(options: ToolListOptions) {
    this.#options = options;
  }

  /** The latest list, as the same array while its content is the same; `null` before the first list. */
  get tools(): readonly ListedTool[] | null {
    return this.#tools;
  }

  /** Tools omitted from the latest list, each with its reason. */
  get omitted(): readonly string[] {
    return this.#omitted;
  }

  get isStale(): boolean {
    return this.#options.clock.monotonic() - this.#fetchedAt > STALE_MS;
  }

  /** Fetches the list. Rejects if the server does not return one. */
  async fetch(client: Client, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const stop = new AbortController();
    const timer = clock.after(LIST_MS, () =>
      stop.abort(new NoAnswerInTime("The server takes too long to list its tools.")),
    );
    try {
      const tools = await this.#walk(client, AbortSignal.any([signal, stop.signal]));
      this.#fetchedAt = clock.monotonic();
      if (this.#tools === null || !isDeepStrictEqual(this.#tools, tools)) this.#tools = tools;
    } finally {
      timer.stop();
    }
  }

  /** Refreshes the list in the background, rate-limited. Keeps the latest list if that fails. */
  renew(client: Client, signal: AbortSignal): void {
    if (this.#fetching) {
      this.#isOutdated = true;
      return;
    }
    this.#fetching = true;
    void this.#renew(client, signal).finally(() => {
      this.#fetching = false;
      if (!this.#isOutdated || signal.aborted) return;
      this.#isOutdated = false;
      this.renew(client, signal);
    });
  }

  async #renew(client: Client, signal: AbortSignal): Promise<void> {
    const { clock, onFailure } = this.#options;
    const since = clock.monotonic() - this.#fetchedAt;
    try {
      if (since < PAUSE_MS) await clock.sleep(PAUSE_MS - since, signal);
      await this.fetch(client, signal);
    } catch (error) {
      // Delay the next attempt.
      this.#fetchedAt = clock.monotonic();
      if (!signal.aborted) onFailure(error);
    }
  }

  async #walk(client: Client, signal: AbortSignal): Promise<readonly ListedTool[]> {
    if (client.getServerCapabilities()?.tools === undefined) return [];
    const tools: ListedTool[] = [];
    const omitted: string[] = [];
    const finish = (listed: readonly ListedTool[]): readonly ListedTool[] => {
      this.#omitted = omitted;
      for (const reason of omitted) this.#options.onOmitted(reason);
      return listed;
    };
    const names = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer: { tools: ListedTool[]; nextCursor?: string | undefined } = await client.request(
        { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
        { signal, timeout: NO_TIMEOUT_MS },
      );
      const isModern = client.getProtocolEra() === "modern";
      // Some servers and proxies repeat pages, with the same cursor or a cycle of cursors.
      const listed = answer.tools.filter(({ name }) => !names.has(name));
      if (listed.length === 0 && answer.tools.length > 0) return finish(tools);
      for (const { name } of listed) names.add(name);
      const fitting = listed.filter((tool) => this.#fits(tool, isModern, omitted));
      tools.push(...fitting.slice(0, MAX_TOOLS + 1 - tools.length));
      if (tools.length > MAX_TOOLS) break;
      if (answer.nextCursor === undefined || answer.nextCursor === cursor) return finish(tools);
      cursor = answer.nextCursor;
    }
    omitted.push(`only the first ${MAX_TOOLS} are taken`);
    return finish(tools.slice(0, MAX_TOOLS));
  }

  #fits(tool: ListedTool, isModern: boolean, omitted: string[]): boolean {
    const reason = reasonToOmit(tool, isModern);
    if (reason !== null) omitted.push(`${tool.name.slice(0, 100)} ${reason}`);
    return reason === null;
  }
}

function reasonToOmit(tool: ListedTool, isModern: boolean): string | null {
  const reason = omissionReason(tool) ?? (isModern ? headerProblem(tool.inputSchema as JsonValue) : null);
  if (reason !== null) return reason;
  return JSON.stringify(tool).length > MAX_TOOL_LENGTH ? "takes too long to describe" : null;
}
