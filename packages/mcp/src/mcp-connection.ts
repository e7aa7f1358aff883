// A connection to one MCP server: opened on demand, reopened after a loss, closed when unused.

import type { CallToolResult, Client, Tool as ListedTool } from "@modelcontextprotocol/client";
import {
  cleanText,
  type Clock,
  type Logger,
  ReconnectPlan,
  type Scrubber,
  scrubText,
  type Timer,
  type ToolEffect,
  within,
} from "@colloquy/engine/tool-source";
import { failureText, McpUnavailable, NoAnswerInTime, SessionLost, UNREACHED } from "./mcp-failure.ts";
import { ToolList } from "./tool-list.ts";
import { NO_TIMEOUT_MS } from "./open-client.ts";

/** Time limit in milliseconds for connecting and the first list of tools. */
const CONNECT_MS = 30_000;
const IDLE_MS = 5 * 60_000;
/** Maximum characters of a problem, which a server may have written. */
const MAX_PROBLEM = 300;

export interface McpConnectionOptions {
  /** Name of the server in the configuration. */
  readonly server: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly scrub: Scrubber;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  readonly open: (signal: AbortSignal, onToolsChanged: () => void) => Promise<Client>;
  /** Called when an unused connection was closed; `null` to keep it open, and reconnect in the background. */
  readonly onIdle: (() => void) | null;
}

export class McpConnection {
  /** Removes the server's own keys from its output. */
  readonly scrub: Scrubber;
  readonly #options: McpConnectionOptions;
  readonly #list: ToolList;
  readonly #end = new AbortController();
  readonly #plan: ReconnectPlan;
  #client: Client | null = null;
  #connecting: Promise<Client> | null = null;
  #idleMs: number | null;
  #idle: Timer | null = null;
  readonly #uses = new ClientUses((client) => client === this.#client);
  /** Verification of the connection in progress, shared by all callers. */
  #verifying: Promise<void> | null = null;
  #waiting = 0;
  #problem = UNREACHED;

  constructor(options: McpConnectionOptions) {
    const { server, clock, logger, random, onIdle } = options;
    this.#options = options;
    this.scrub = options.scrub;
    const onDue = (): void => void this.#connect().catch(() => undefined);
    this.#plan = new ReconnectPlan({ clock, random, onDue: onIdle === null ? onDue : null });
    this.#idleMs = onIdle === null ? null : IDLE_MS;
    this.#list = new ToolList({
      clock,
      onOmitted: (reason) =>
        logger.warn({ server, reason: this.scrub(reason) }, "tools of an MCP server are omitted"),
      onFailure: (error) => this.#warn(error, "could not list the tools of an MCP server"),
    });
  }

  /** Why there is no connection, as the rest of a sentence. */
  get problem(): string {
    return this.#problem;
  }

  /** What the latest list leaves out, and why. */
  get omitted(): readonly string[] {
    return this.#list.omitted.map(this.scrub).filter((text) => typeof text === "string");
  }

  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  /**
   * Returns the latest list of tools, or `null` if there is none yet. Waits at most `waitMs` for the first
   * list, and not at all if connecting has failed before. Never rejects.
   */
  async list(waitMs: number, signal: AbortSignal): Promise<readonly ListedTool[] | null> {
    this.#touch();
    const client = this.#client;
    if (client === null) {
      const connected = this.#connect().catch(() => undefined);
      if (this.#list.tools === null && !this.#plan.hasFailed) {
        await within(connected, undefined, { clock: this.#options.clock, ms: waitMs, signal });
      }
    } else if (this.#list.isStale) this.#list.renew(client, this.#end.signal);
    return this.#list.tools;
  }

  /** Calls a tool. Rejects with an Error whose message can be shown to a model. */
  async call(call: McpCall): Promise<CallToolResult> {
    this.#waiting += 1;
    this.#touch();
    try {
      for (let attempt = 1; ; attempt += 1) {
        const client = await this.#connect();
        call.signal.throwIfAborted();
        // Read before the call, because a closed client no longer has its transport.
        const hasSession = client.transport?.sessionId !== undefined;
        try {
          return await this.#uses.during(client, () => callOn(client, call));
        } catch (error) {
          const failure = await this.#handleFailure(client, error, hasSession, call);
          const mayRepeat = failure instanceof SessionLost && call.effect !== "unsafe";
          if (attempt > 1 || !mayRepeat) throw failure;
        }
      }
    } finally {
      this.#waiting -= 1;
      this.#touch();
    }
  }

  /** Keeps the connection open only while it is in use. */
  retire(): void {
    this.#plan.stop();
    this.#idleMs = 0;
    this.#touch();
  }

  /** Closes the connection permanently. */
  async close(): Promise<void> {
    this.#end.abort(new Error("The connection is closed."));
    this.#plan.stop();
    this.#idle?.stop();
    const clients = new Set(this.#uses.clients);
    if (this.#client !== null) clients.add(this.#client);
    this.#client = null;
    const opened = await this.#connecting?.catch(() => null);
    if (opened !== null && opened !== undefined) clients.add(opened);
    await Promise.allSettled([...clients].map((client) => client.close()));
  }

  async #handleFailure(
    client: Client,
    error: unknown,
    hasSession: boolean,
    { effect, signal }: McpCall,
  ): Promise<Error> {
    const { server } = this.#options;
    // Imported on demand, with the SDK.
    const { describeCallFailure } = await import("./call-failure.ts");
    const { failure, connection, isFault } = describeCallFailure(error, { server, effect, hasSession });
    if (isFault && !signal.aborted) this.#warn(error, "a call to an MCP server has failed");
    if (signal.aborted || connection === "stands") return failure;
    if (connection === "forgotten") this.#lose(client, error, "at once");
    else await this.#verify(client);
    return failure;
  }

  /**
   * Checks whether the server still responds. Reconnects only if tools/list fails: a broken response may be
   * the fault of a single tool, and a reconnect makes all users wait. Never rejects.
   */
  async #verify(client: Client): Promise<void> {
    if (client !== this.#client) return;
    this.#verifying ??= this.#uses
      .during(client, () => this.#list.fetch(client, this.#end.signal))
      .catch(async (error: unknown) => {
        const { hasResponded } = await import("./call-failure.ts");
        this.#lose(client, error, hasResponded(error) ? "at once" : "after a pause");
      })
      .finally(() => (this.#verifying = null));
    await this.#verifying;
  }

  /** Returns the open client, or opens one; concurrent callers share one attempt. */
  #connect(): Promise<Client> {
    if (this.#client !== null) return Promise.resolve(this.#client);
    const { server } = this.#options;
    if (this.#end.signal.aborted) return Promise.reject(new McpUnavailable(server));
    if (this.#connecting !== null) return this.#connecting;
    if (!this.#plan.isDue) return Promise.reject(new McpUnavailable(server, this.#problem));
    this.#plan.trying();
    const connecting = this.#open().finally(() => (this.#connecting = null));
    this.#connecting = connecting;
    return connecting;
  }

  async #open(): Promise<Client> {
    const { server, clock, logger, open } = this.#options;
    const stop = new AbortController();
    const timer = clock.after(CONNECT_MS, () =>
      stop.abort(new NoAnswerInTime("The server takes too long to connect.")),
    );
    const signal = AbortSignal.any([stop.signal, this.#end.signal]);
    let client: Client | null = null;
    try {
      const opened = await open(signal, () => this.#list.renew(opened, this.#end.signal));
      client = opened;
      let lastError: unknown = new Error("The server has closed it.");
      const listeners: Pick<Client, "onclose" | "onerror"> = {
        onerror: (error) => (lastError = error),
        onclose: () => this.#lose(opened, lastError, "after a pause"),
      };
      Object.assign(opened, listeners);
      await this.#list.fetch(opened, signal);
      signal.throwIfAborted();
      this.#client = opened;
      this.#plan.opened();
      this.#touch();
      logger.debug({ server, tools: this.#list.tools?.length ?? 0 }, "an MCP server is connected");
      return opened;
    } catch (error) {
      await client?.close().catch(() => undefined);
      const { describeOpenFailure } = await import("./call-failure.ts");
      const problem = describeOpenFailure(error);
      this.#problem =
        problem === null ? UNREACHED : scrubText(this.scrub, cleanText(problem)).slice(0, MAX_PROBLEM);
      if (!this.#end.signal.aborted) {
        this.#warn(
          error,
          problem === null ? "an MCP server cannot be reached" : "an MCP server cannot be used",
        );
        this.#plan.failed();
      }
      throw new McpUnavailable(server, this.#problem, { cause: error });
    } finally {
      timer.stop();
    }
  }

  /** Drops a client, which is closed after its last call. `again` says when the next client may be opened. */
  #lose(client: Client, error: unknown, again: "at once" | "after a pause"): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#uses.closeUnused(client);
    if (this.#end.signal.aborted) return;
    this.#warn(error, "the connection to an MCP server is lost");
    if (again === "after a pause") this.#plan.lost();
  }

  #warn(error: unknown, message: string): void {
    const { server, logger } = this.#options;
    logger.warn({ server, failure: failureText(error, this.scrub) }, message);
  }

  /** Restarts the idle timer. */
  #touch(): void {
    this.#idle?.stop();
    if (this.#idleMs === null || this.#end.signal.aborted) return;
    this.#idle = this.#options.clock.after(this.#idleMs, () => {
      if (this.isBusy) return;
      const client = this.#client;
      this.#client = null;
      if (client !== null) void client.close().catch(() => undefined);
      this.#options.onIdle?.();
    });
  }
}

/** Counts the uses of each client, so that a replaced client is closed when its last use has ended. */
class ClientUses {
  readonly #uses = new Map<Client, number>();
  readonly #isCurrent: (client: Client) => boolean;

  constructor(isCurrent: (client: Client) => boolean) {
    this.#isCurrent = isCurrent;
  }

  get clients(): readonly Client[] {
    return [...this.#uses.keys()];
  }

  async during<Result>(client: Client, work: () => Promise<Result>): Promise<Result> {
    this.#uses.set(client, (this.#uses.get(client) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const uses = (this.#uses.get(client) ?? 1) - 1;
      if (uses > 0) this.#uses.set(client, uses);
      else {
        this.#uses.delete(client);
        if (!this.#isCurrent(client)) this.closeUnused(client);
      }
    }
  }

  /** Closes a client that is not in use. */
  closeUnused(client: Client): void {
    if (!this.#uses.has(client)) void client.close().catch(() => undefined);
  }
}

interface McpCall {
  readonly tool: ListedTool;
  readonly input: Readonly<Record<string, unknown>>;
  /** The operator's configured effect, or else the effect that the server claims. */
  readonly effect: ToolEffect;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: object) => void;
}

/** Rejects with the SDK's error. */
function callOn(
  client: Client,
  { tool, input, callId, signal, onProgress }: McpCall,
): Promise<CallToolResult> {
  // Omits the output schema, because this service checks the output itself, within limits.
  const { outputSchema: _, ...toolDefinition } = tool;
  return client.callTool(
    { name: tool.name, arguments: { ...input }, _meta: { "idempotency-key": callId } },
    { signal, timeout: NO_TIMEOUT_MS, onprogress: onProgress, toolDefinition },
  );
}
