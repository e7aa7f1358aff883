// The list of a server's tools, kept while the server is away and renewed when the server says so.

import type { Client, Tool as ListedTool } from "@modelcontextprotocol/client";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../core/ports/clock.ts";
import { NO_TIMEOUT_MS } from "./open-client.ts";
import { isTooDeep, MAX_DEPTH } from "./tool-depth.ts";

const MAX_PAGES = 64;
/** Tools of one server that an App takes. Models choose badly from so many, and each is sent with every call of a model. */
const MAX_TOOLS = 128;
/** Characters of JSON that describe one tool. */
const MAX_TOOL_LENGTH = 64 * 1_024;
/** A list may take this long. */
const LIST_MS = 15_000;
/** A server that keeps announcing changes is asked once in this time. */
const PAUSE_MS = 1_000;
/** Announcements may get lost. */
const STALE_MS = 5 * 60_000;

export interface ToolListOptions {
  readonly clock: Clock;
  /** The server has more tools than are taken, or some that are too large. */
  readonly onLeftOut: (reason: string) => void;
  readonly onFailure: (error: unknown) => void;
}

export class ToolList {
  readonly #options: ToolListOptions;
  #tools: readonly ListedTool[] | null = null;
  #fetchedAt = 0;
  #fetching = false;
  /** A change was announced while a list was on its way. */
  #isOutdated = false;

  constructor(options: ToolListOptions) {
    this.#options = options;
  }

  /** The last list; the same array as long as the server says the same. `null` before the first. */
  get tools(): readonly ListedTool[] | null {
    return this.#tools;
  }

  get isStale(): boolean {
    return this.#options.clock.monotonic() - this.#fetchedAt > STALE_MS;
  }

  /** Asks the server. Rejects when it does not answer with a list. */
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

  /** Asks the server again in the background, soon. The last list stays when that fails. */
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
      // Not at once again.
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
    this.#options.onLeftOut(`only the first ${MAX_TOOLS} are taken`);
    return tools.slice(0, MAX_TOOLS);
  }

  #fits(tool: ListedTool): boolean {
    const reason = whyNot(tool);
    if (reason !== null) this.#options.onLeftOut(`${tool.name.slice(0, 100)} ${reason}`);
    return reason === null;
  }
}

function whyNot(tool: ListedTool): string | null {
  if (isTooDeep(tool)) return `is nested more than ${MAX_DEPTH} levels deep`;
  return JSON.stringify(tool).length > MAX_TOOL_LENGTH ? "takes too long to describe" : null;
}
