// Tool source for the operations of an OpenAPI document.

import {
  headerScrubber,
  type PluginSource,
  type PluginTool,
  ReconnectPlan,
  type SourceContext,
  type SourceScope,
  ToolsUnavailable,
  within,
} from "@colloquy/engine/tool-source";
import { readDocument } from "./document.ts";
import { readTools } from "./openapi-tools.ts";
import type { OpenApiSettings } from "./settings.ts";

export type OpenApiContext = Pick<SourceContext, "name" | "clock" | "logger" | "guardedFetch"> & {
  /** Returns a number from 0 to 1; defaults to `Math.random`. */
  readonly random?: () => number;
};

/** Maximum milliseconds that a turn waits for the first read of the document. */
const firstListMs = 5_000;

/** Reads the document on first use. */
export class OpenApiSource implements PluginSource {
  readonly #settings: OpenApiSettings;
  readonly #context: OpenApiContext;
  readonly #closed = new AbortController();
  #tools: readonly PluginTool[] | null = null;
  #reading: Promise<void> | null = null;
  readonly #attempts: ReconnectPlan;

  constructor(settings: OpenApiSettings, context: OpenApiContext) {
    this.#settings = settings;
    this.#context = context;
    const { clock, random = Math.random } = context;
    this.#attempts = new ReconnectPlan({ clock, random, onDue: null });
  }

  /** Rejects if the document is unavailable; later calls retry with backoff. */
  async tools({ signal }: Pick<SourceScope, "signal">): Promise<readonly PluginTool[]> {
    if (this.#tools === null && (this.#reading !== null || this.#attempts.isDue)) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null;
      });
      await within(this.#reading, undefined, { clock: this.#context.clock, ms: firstListMs, signal });
    }
    if (this.#tools !== null) return this.#tools;
    throw new ToolsUnavailable("The description of their service cannot be read at the moment.");
  }

  close(): Promise<void> {
    this.#closed.abort(new Error("The service is stopping."));
    return Promise.resolve();
  }

  /** Reads the document. Never rejects. */
  async #read(): Promise<void> {
    const { guardedFetch, logger, name } = this.#context;
    const outbound = { guardedFetch };
    try {
      const document = await readDocument(this.#settings.document, outbound, this.#closed.signal);
      this.#tools = readTools(name, document, this.#settings, {
        outbound,
        scrub: headerScrubber(this.#settings.headers.reveal()),
        onOmitted: (operation, reason) =>
          logger.warn(
            { openapi: name, operation, reason },
            "an operation of an OpenAPI document is omitted, completely or partly",
          ),
      });
      logger.info({ openapi: name, tools: this.#tools.length }, "an OpenAPI document was read");
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      const retryInMs = this.#attempts.failed();
      const document = locationOf(this.#settings.document);
      const fields = { openapi: name, document, err: error, retryInMs };
      logger.warn(fields, "an OpenAPI document cannot be used");
    }
  }
}

/** Returns the document's location for the log, without URL parts that may contain a key. */
function locationOf(document: string): string {
  const url = /^https?:/i.test(document) ? URL.parse(document) : null;
  return url === null ? document : url.origin + url.pathname;
}
