// The list of a server's tools, kept while the server is down and refreshed when it announces a change.

import { isDeepStrictEqual } from "node:util";
import type { Client, Tool as ListedTool } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/ports/driven/clock.ts";
import { NO_TIMEOUT_MS } from "./open-client.ts";
import { isTooDeep, MAX_DEPTH } from "./bounded-transport.ts";

const MAX_PAGES = 64;
/** Maximum tools per server. Models choose badly among more, and each tool is sent with every model call. */
const MAX_TOOLS = 128;
/** Maximum size of one tool's JSON in characters. */
const MAX_TOOL_LENGTH = 64 * 1_024;
/** Time limit for listing. */
const LIST_MS = 15_000;
/** Minimum interval between lists of a server that keeps announcing changes. */
const PAUSE_MS = 1_000;
/** Maximum age of a list without an announcement, which may get lost. */
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

  get isStale(): boolean {
    return this.#options.clock.monotonic() - this.#fetchedAt > STALE_MS;
  }

  /** Fetches the list. Rejects if the server does not return one. */
  async fetch(client: Client, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const stop = new AbortController();
    const timer = clock.after(LIST_MS, () =>
      stop.abort(new Error("The server takes too long to list its tools.")),
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
      // Delays the next attempt.
      this.#fetchedAt = clock.monotonic();
      if (!signal.aborted) onFailure(error);
    }
  }

  async #walk(client: Client, signal: AbortSignal): Promise<readonly ListedTool[]> {
    if (client.getServerCapabilities()?.tools === undefined) return [];
    const tools: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer: { tools: ListedTool[]; nextCursor?: string | undefined } = await client.request(
        { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
        { signal, timeout: NO_TIMEOUT_MS },
      );
      const fitting = answer.tools.filter((tool) => this.#fits(tool));
      tools.push(...fitting.slice(0, MAX_TOOLS + 1 - tools.length));
      if (tools.length > MAX_TOOLS) break;
      if (answer.nextCursor === undefined || answer.nextCursor === cursor) return tools;
      cursor = answer.nextCursor;
    }
    this.#options.onOmitted(`only the first ${MAX_TOOLS} are taken`);
    return tools.slice(0, MAX_TOOLS);
  }

  #fits(tool: ListedTool): boolean {
    const reason = reasonToOmit(tool);
    if (reason !== null) this.#options.onOmitted(`${tool.name.slice(0, 100)} ${reason}`);
    return reason === null;
  }
}

function reasonToOmit(tool: ListedTool): string | null {
  if (isTooDeep(tool)) return `is nested more than ${MAX_DEPTH} levels deep`;
  return JSON.stringify(tool).length > MAX_TOOL_LENGTH ? "takes too long to describe" : null;
}
