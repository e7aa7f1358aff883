// Provides the operations of an OpenAPI document as tools of an App.

import type { OpenApiSettings } from "../../core/app-settings.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type { SchemaCheck } from "../../core/ports/driven/schema-check.ts";
import type { ToolContext } from "../../core/ports/driven/tool.ts";
import { headerScrubber } from "../secret-headers.ts";
import { ReconnectPlan } from "../reconnect-plan.ts";
import type { Outbound } from "../outbound/outbound.ts";
import {
  toolNameOf,
  createStandIn,
  type SourcePlan,
  type SourceTool,
  type ToolScope,
  type ToolSource,
} from "../tool-source.ts";
import { within } from "../../core/waiting.ts";
import { readDocument } from "./document.ts";
import { readTools } from "./openapi-tools.ts";

export interface OpenApiOptions {
  readonly outbound: Pick<Outbound, "guardedFetch">;
  readonly schemas: SchemaCheck;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number from 0 to 1; defaults to `Math.random`. */
  readonly random?: () => number;
}

/** Maximum time that a turn waits for a document. */
const firstListMs = 5_000;

/**
 * Plans the source of a document's operations, named `NAME_OPERATION`. The document is read when a turn first
 * needs it, and again after each reload.
 */
export function planOpenApi(name: string, settings: OpenApiSettings, options: OpenApiOptions): SourcePlan {
  return { key: null, create: () => new OpenApiSource(name, settings, options) };
}

class OpenApiSource implements ToolSource {
  readonly label: string;
  readonly #name: string;
  readonly #settings: OpenApiSettings;
  readonly #options: OpenApiOptions;
  readonly #closed = new AbortController();
  /** Placeholder for the tools until the document has been read. */
  readonly #standIn: readonly SourceTool[];
  #tools: readonly SourceTool[] | null = null;
  #reading: Promise<void> | null = null;
  readonly #attempts: ReconnectPlan;

  constructor(name: string, settings: OpenApiSettings, options: OpenApiOptions) {
    this.label = `openapi ${name}`;
    this.#name = name;
    this.#settings = settings;
    this.#options = options;
    const { clock, random = Math.random } = options;
    this.#attempts = new ReconnectPlan({ clock, random, onDue: null });
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

  /** Returns the tools, or `null` if the document cannot be read now. Retries with backoff. */
  async #known(signal: AbortSignal): Promise<readonly SourceTool[] | null> {
    const { clock } = this.#options;
    if (this.#tools !== null) return this.#tools;
    if (this.#reading === null && !this.#attempts.isDue) return null;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    await within(this.#reading, undefined, { clock, ms: firstListMs, signal });
    return this.#tools;
  }

  close(): Promise<void> {
    this.#closed.abort(new Error("The service is stopping."));
    return Promise.resolve();
  }

  /** Reads the document. Never rejects. */
  async #read(): Promise<void> {
    const { outbound, schemas, logger } = this.#options;
    const name = this.#name;
    try {
      const document = await readDocument(this.#settings.document, outbound, this.#closed.signal);
      this.#tools = readTools(name, document, this.#settings, {
        outbound,
        schemas,
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

/** Returns the document's location for the log: a URL without the parts that may hold a key. */
function locationOf(document: string): string {
  const url = /^https?:/i.test(document) ? URL.parse(document) : null;
  return url === null ? document : url.origin + url.pathname;
}
