// The operations of one OpenAPI document as tools of an App.

import type { OpenApiSettings } from "../../core/app-settings.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Logger } from "../../core/ports/logger.ts";
import type { ToolContext } from "../../core/ports/tool.ts";
import { headerScrubber } from "../mcp/own-values.ts";
import { reconnectDelay } from "../mcp/reconnect-delay.ts";
import { toolNameOf } from "../mcp/mcp-names.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { createStandIn } from "../stand-in.ts";
import type { SourcePlan, SourceTool, ToolScope, ToolSource } from "../tool-source.ts";
import { readDocument } from "./document.ts";
import { readTools } from "./openapi-tools.ts";

export interface OpenApiOptions {
  readonly outbound: Pick<Outbound, "guardedFetch">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to 1; absent for the machine's own. */
  readonly random?: () => number;
}

/** A turn waits this long for a document that is being read. */
const firstListMs = 5_000;

/** The source of a document's operations, named `NAME_OPERATION`. The document is read when the first turn needs it, and again at each reload. */
export function planOpenApi(name: string, settings: OpenApiSettings, options: OpenApiOptions): SourcePlan {
  return { key: null, create: () => new OpenApiSource(name, settings, options) };
}

class OpenApiSource implements ToolSource {
  readonly label: string;
  readonly #name: string;
  readonly #settings: OpenApiSettings;
  readonly #options: OpenApiOptions;
  readonly #closed = new AbortController();
  /** In the place of the tools while the document has not been read. */
  readonly #standIn: readonly SourceTool[];
  #tools: readonly SourceTool[] | null = null;
  #reading: Promise<void> | null = null;
  #failures = 0;
  /** On the monotonic clock. */
  #nextAttempt = 0;

  constructor(name: string, settings: OpenApiSettings, options: OpenApiOptions) {
    this.label = `openapi ${name}`;
    this.#name = name;
    this.#settings = settings;
    this.#options = options;
    const look = async ({ signal }: ToolContext): Promise<void> => {
      if ((await this.#known(signal)) !== null) return;
      throw new Error(
        `The description of the service "${name}" cannot be read at the moment. Nothing was called.`,
      );
    };
    const reason = "The description of their service cannot be read at the moment.";
    this.#standIn = [createStandIn({ prefix: toolNameOf(name, ""), reason, look })];
  }

  async list(_scope: ToolScope, signal: AbortSignal): Promise<readonly SourceTool[]> {
    return (await this.#known(signal)) ?? this.#standIn;
  }

  /** `null` where the document cannot be read now; it is tried again from time to time. */
  async #known(signal: AbortSignal): Promise<readonly SourceTool[] | null> {
    const { clock } = this.#options;
    if (this.#tools !== null) return this.#tools;
    if (this.#reading === null && clock.monotonic() < this.#nextAttempt) return null;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    const stop = new AbortController();
    const waited = clock.sleep(firstListMs, AbortSignal.any([signal, stop.signal])).catch(() => undefined);
    await Promise.race([this.#reading, waited]);
    stop.abort();
    return this.#tools;
  }

  retire(): void {
    // Nothing is held open between calls.
  }

  close(): Promise<void> {
    this.#closed.abort(new Error("The service is stopping."));
    return Promise.resolve();
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { outbound, clock, logger, random = Math.random } = this.#options;
    const name = this.#name;
    try {
      const document = await readDocument(this.#settings.document, outbound, this.#closed.signal);
      const headers = this.#settings.headers.reveal();
      this.#tools = readTools(name, document, this.#settings, {
        outbound,
        scrub: headerScrubber(headers),
        onLeftOut: (operation, reason) =>
          logger.warn(
            { openapi: name, operation, reason },
            "an operation of an OpenAPI document is not as written",
          ),
      });
      logger.info({ openapi: name, tools: this.#tools.length }, "an OpenAPI document was read");
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      const delay = reconnectDelay(this.#failures, random());
      this.#failures += 1;
      this.#nextAttempt = clock.monotonic() + delay;
      const fields = {
        openapi: name,
        document: placeOf(this.#settings.document),
        err: error,
        retryInMs: delay,
      };
      logger.warn(fields, "an OpenAPI document cannot be used");
    }
  }
}

/** For the log: a URL without what may hold a key. */
function placeOf(document: string): string {
  const url = /^https?:/i.test(document) ? URL.parse(document) : null;
  return url === null ? document : url.origin + url.pathname;
}
