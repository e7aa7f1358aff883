// One connection to one MCP server: opened when it is needed, opened again when it is lost, closed when nobody needs it.

import type { CallToolResult, Client, Tool as ListedTool } from "@modelcontextprotocol/client";
import type { Clock, Timer } from "../../core/ports/clock.ts";
import type { Logger } from "../../core/ports/logger.ts";
import type { ToolEffect } from "../../core/ports/tool.ts";
import type { Scrubber } from "../scrub.ts";
import { failureText } from "./failure-text.ts";
import { McpUnavailable, SessionLost } from "./mcp-failure.ts";
import { NO_TIMEOUT_MS } from "./open-client.ts";
import { ReconnectPlan } from "./reconnect-plan.ts";
import { ToolList } from "./tool-list.ts";

/** Milliseconds that a connection may take to be opened, with the first list of tools. */
const CONNECT_MS = 30_000;

export interface McpConnectionOptions {
  /** Its name in the configuration. */
  readonly server: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly scrub: Scrubber;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly open: (signal: AbortSignal, onToolsChanged: () => void) => Promise<Client>;
  /** Whether it is opened again in the background when it was lost. */
  readonly isKept: boolean;
  /** It is closed after so many milliseconds without use; `null` for never. */
  readonly idleMs: number | null;
  readonly onIdle: () => void;
}

export interface McpCall {
  readonly tool: ListedTool;
  readonly input: Readonly<Record<string, unknown>>;
  /** As the operator says it, or else the server. */
  readonly effect: ToolEffect;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: object) => void;
}

export class McpConnection {
  /** Takes the keys that the server is sent out of what it says. */
  readonly scrub: Scrubber;
  readonly #options: McpConnectionOptions;
  readonly #list: ToolList;
  readonly #end = new AbortController();
  readonly #plan: ReconnectPlan;
  #client: Client | null = null;
  #connecting: Promise<Client> | null = null;
  #idleMs: number | null;
  #idle: Timer | null = null;
  /** Calls and lists that are under way, by client. */
  readonly #uses = new Map<Client, number>();
  #waiting = 0;

  constructor(options: McpConnectionOptions) {
    const { server, clock, logger, random, isKept } = options;
    this.#options = options;
    this.scrub = options.scrub;
    const onDue = (): void => void this.#connect().catch(() => undefined);
    this.#plan = new ReconnectPlan({ clock, random, onDue: isKept ? onDue : null });
    this.#idleMs = options.idleMs;
    this.#list = new ToolList({
      clock,
      onLeftOut: (reason) =>
        logger.warn({ server, reason: this.scrub(reason) }, "tools of an MCP server are left out"),
      onFailure: (error) => this.#warn(error, "an MCP server does not list its tools"),
    });
  }

  get isBusy(): boolean {
    return this.#waiting > 0 || this.#uses.size > 0;
  }

  /**
   * The last list of tools, the first time after `waitMs` at most; `null` when there is none yet. What has failed before is not waited
   * for. Never rejects.
   */
  async list(waitMs: number, signal: AbortSignal): Promise<readonly ListedTool[] | null> {
    this.#touch();
    const client = this.#client;
    if (client === null) {
      const connected = this.#connect().catch(() => undefined);
      if (this.#list.tools === null && !this.#plan.hasFailed) await this.#waitFor(connected, waitMs, signal);
    } else if (this.#list.isStale) this.#list.renew(client, this.#end.signal);
    return this.#list.tools;
  }

  /** Calls a tool. Rejects with an Error whose message a model can be shown. */
  async call(call: McpCall): Promise<CallToolResult> {
    this.#waiting += 1;
    this.#touch();
    try {
      for (let attempt = 1; ; attempt += 1) {
        const client = await this.#connect();
        call.signal.throwIfAborted();
        // Read now: a client that is closed does not know it any more.
        const hasSession = client.transport?.sessionId !== undefined;
        try {
          return await this.#callOn(client, call);
        } catch (error) {
          const failure = await this.#judge(client, error, hasSession, call.signal);
          const mayRepeat = failure instanceof SessionLost && call.effect !== "unsafe";
          if (attempt > 1 || !mayRepeat) throw failure;
        }
      }
    } finally {
      this.#waiting -= 1;
      this.#touch();
    }
  }

  /** From now on it is open only while it is used. */
  retire(): void {
    this.#plan.stop();
    this.#idleMs = 0;
    this.#touch();
  }

  /** Closes it for good. */
  async close(): Promise<void> {
    this.#end.abort(new Error("The connection is closed."));
    this.#plan.stop();
    this.#idle?.stop();
    const clients = new Set(this.#uses.keys());
    if (this.#client !== null) clients.add(this.#client);
    this.#client = null;
    const opened = await this.#connecting?.catch(() => null);
    if (opened !== null && opened !== undefined) clients.add(opened);
    await Promise.allSettled([...clients].map((client) => client.close()));
  }

  async #callOn(
    client: Client,
    { tool, input, callId, signal, onProgress }: McpCall,
  ): Promise<CallToolResult> {
    this.#uses.set(client, (this.#uses.get(client) ?? 0) + 1);
    // Without its schemas: this service checks them itself, with limits.
    const { outputSchema: _, ...toolDefinition } = tool;
    try {
      return await client.callTool(
        { name: tool.name, arguments: { ...input }, _meta: { "idempotency-key": callId } },
        { signal, timeout: NO_TIMEOUT_MS, onprogress: onProgress, toolDefinition },
      );
    } finally {
      const uses = (this.#uses.get(client) ?? 1) - 1;
      if (uses > 0) this.#uses.set(client, uses);
      else {
        this.#uses.delete(client);
        if (client !== this.#client) void client.close().catch(() => undefined);
      }
    }
  }

  async #judge(client: Client, error: unknown, hasSession: boolean, signal: AbortSignal): Promise<Error> {
    const { server } = this.#options;
    // With the SDK, which is there by now.
    const { describeCallFailure } = await import("./call-failure.ts");
    const { failure, connection } = describeCallFailure(server, error, hasSession);
    if (signal.aborted || connection === "stands") return failure;
    this.#warn(error, "the connection to an MCP server is lost");
    this.#lose(client);
    if (connection === "forgotten") this.#plan.skip();
    return failure;
  }

  /** The open client; opens one when there is none, one at a time for all who ask. */
  #connect(): Promise<Client> {
    if (this.#client !== null) return Promise.resolve(this.#client);
    const { server } = this.#options;
    if (this.#end.signal.aborted) return Promise.reject(new McpUnavailable(server));
    if (this.#connecting !== null) return this.#connecting;
    if (!this.#plan.isTime) return Promise.reject(new McpUnavailable(server));
    this.#plan.trying();
    const connecting = this.#open().finally(() => (this.#connecting = null));
    this.#connecting = connecting;
    return connecting;
  }

  async #open(): Promise<Client> {
    const { server, clock, logger, open } = this.#options;
    const stop = new AbortController();
    const timer = clock.after(CONNECT_MS, () =>
      stop.abort(new Error("The server takes too long to connect.")),
    );
    const signal = AbortSignal.any([stop.signal, this.#end.signal]);
    let client: Client | null = null;
    try {
      const opened = await open(signal, () => this.#list.renew(opened, this.#end.signal));
      client = opened;
      Object.assign(opened, { onclose: () => this.#lose(opened) } satisfies Pick<Client, "onclose">);
      await this.#list.fetch(opened, signal);
      signal.throwIfAborted();
      this.#client = opened;
      this.#plan.opened();
      this.#touch();
      logger.debug({ server, tools: this.#list.tools?.length ?? 0 }, "an MCP server is connected");
      return opened;
    } catch (error) {
      await client?.close().catch(() => undefined);
      if (!this.#end.signal.aborted) {
        this.#warn(error, "an MCP server cannot be reached");
        this.#plan.failed();
      }
      throw new McpUnavailable(server, { cause: error });
    } finally {
      timer.stop();
    }
  }

  /** A client that cannot be used any more; it is closed when its last call has ended. */
  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    if (!this.#uses.has(client)) void client.close().catch(() => undefined);
    if (!this.#end.signal.aborted) this.#plan.lost();
  }

  #warn(error: unknown, message: string): void {
    const { server, logger } = this.#options;
    logger.warn({ server, failure: failureText(error, this.scrub) }, message);
  }

  /** It is used: the time without use begins anew. */
  #touch(): void {
    this.#idle?.stop();
    if (this.#idleMs === null || this.#end.signal.aborted) return;
    this.#idle = this.#options.clock.after(this.#idleMs, () => {
      if (this.isBusy) return;
      const client = this.#client;
      this.#client = null;
      if (client !== null) void client.close().catch(() => undefined);
      this.#options.onIdle();
    });
  }

  async #waitFor(promise: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const sleep = this.#options.clock
      .sleep(ms, AbortSignal.any([stop.signal, signal]))
      .catch(() => undefined);
    await Promise.race([promise, sleep]);
    stop.abort();
  }
}
