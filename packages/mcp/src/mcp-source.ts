// The tools of one MCP server for one App.

import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import {
  cleanText,
  fillSecrets,
  messageOf,
  type PluginSource,
  type PluginTool,
  type Scrubber,
  scrubText,
  SecretMissing,
  secretsIn,
  type SourceContext,
  type SourceScope,
  type ToolContext,
  ToolsUnavailable,
} from "@colloquy/engine/tool-source";
import { McpConnection } from "./mcp-connection.ts";
import { readMcpTool } from "./mcp-tool.ts";
import { openClient } from "./open-client.ts";
import { type McpServerSettings, ownScrubber } from "./settings.ts";

/** Maximum milliseconds that a turn waits for a server's first tool list. */
const FIRST_LIST_MS = 5_000;
/** Maximum length of a logged stderr line in characters. */
const MAX_LOGGED_LINE = 1_000;
/** Maximum number of connected clients of one server. */
const MAX_CLIENTS = 200;

export type McpContext = Pick<SourceContext, "name" | "clock" | "logger" | "schemas"> & {
  /** Returns a number from 0 to 1; defaults to `Math.random`. */
  readonly random?: () => number;
};

/** Connects to the server when a turn first needs its tools. */
export class McpSource implements PluginSource {
  readonly #context: McpContext;
  readonly #connections: Connections;
  readonly #read = new WeakMap<readonly ListedTool[], readonly PluginTool[]>();
  #omitted: readonly string[] = [];

  constructor(settings: McpServerSettings, context: McpContext) {
    this.#context = context;
    this.#connections = connectionsTo(context.name, settings, context);
  }

  get omitted(): readonly string[] {
    return this.#omitted;
  }

  async tools(scope: SourceScope): Promise<readonly PluginTool[]> {
    const connection = this.#connectionFor(scope);
    const listed = await connection.list(FIRST_LIST_MS, scope.signal);
    if (listed === null) throw new ToolsUnavailable(`Their server ${connection.problem}.`);
    this.#omitted = connection.omitted;
    let tools = this.#read.get(listed);
    if (tools === undefined) {
      tools = this.#readTools(listed, connection.scrub);
      this.#read.set(listed, tools);
    }
    return tools;
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  #connectionFor(scope: SourceScope): McpConnection {
    const { logger, name: server } = this.#context;
    try {
      return this.#connections.for(scope);
    } catch (error) {
      if (error instanceof SecretMissing) throw error;
      // An error of this service for this client only: an unreadable secret, an invalid header value, or too
      // many clients.
      const failure = messageOf(error);
      logger.warn({ server, failure }, "an MCP server cannot be used in a turn");
      throw new ToolsUnavailable(failure, { isClientSpecific: true });
    }
  }

  #readTools(all: readonly ListedTool[], scrub: Scrubber): readonly PluginTool[] {
    const { schemas } = this.#context;
    // Calls carry only the name, so entries with equal names are the same tool.
    const listed = [...new Map(all.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
    const connect = (context: ToolContext): McpConnection => this.#connections.for(context);
    return listed.map((tool) => readMcpTool(tool, { connect, scrub, schemas }));
  }
}

function connectionsTo(server: string, settings: McpServerSettings, options: McpContext): Connections {
  const { clock, logger, random = Math.random } = options;
  const connect = (
    headers: Headers,
    secrets: readonly string[],
    onIdle: (() => void) | null,
  ): McpConnection => {
    const scrub = ownScrubber(settings, secrets);
    const onErrorLine = (line: string): void =>
      logger.debug(
        { server, line: scrubText(scrub, cleanText(line)).slice(0, MAX_LOGGED_LINE) },
        "an MCP server wrote to stderr",
      );
    return new McpConnection({
      scrub,
      server,
      clock,
      logger,
      random,
      onIdle,
      open: (signal, onToolsChanged) =>
        openClient({ settings, headers, clock, signal, onToolsChanged, onErrorLine }),
    });
  };
  const headers = settings.transport === "http" ? settings.headers.reveal() : {};
  if (secretsIn(headers).length > 0) return new ClientConnections(headers, connect);
  const connection = connect(headers, [], null);
  return { for: () => connection, close: () => connection.close() };
}

/** Chooses the connection of a turn: a shared one, or one per client if the headers hold client secrets. */
interface Connections {
  /** Throws `SecretMissing` if the turn's client has not set a secret that the server's headers need. */
  for(scope: Pick<SourceScope, "turn" | "secret">): McpConnection;
  /** Closes all connections and opens no new ones. */
  close(): Promise<void>;
}

type Headers = Readonly<Record<string, string>>;
/** Opens a connection; `secrets` are the client's secrets in the headers. */
type Connect = (headers: Headers, secrets: readonly string[], onIdle: () => void) => McpConnection;

/** One connection per client. The least recently used idle connection makes room for a new one. */
class ClientConnections implements Connections {
  readonly #headers: Headers;
  readonly #connect: Connect;
  /** Keyed by client id, least recently used first. */
  readonly #open = new Map<string, { readonly headers: string; readonly connection: McpConnection }>();
  #isClosed = false;

  /** @param headers may contain placeholders for secrets of a turn's client. */
  constructor(headers: Headers, connect: Connect) {
    this.#headers = headers;
    this.#connect = connect;
  }

  for(scope: Pick<SourceScope, "turn" | "secret">): McpConnection {
    if (this.#isClosed) throw new Error("The service does not use this server any more.");
    const filled = fillSecrets(this.#headers, scope);
    const headers = JSON.stringify(filled);
    const client = scope.turn.clientId ?? "";
    const known = this.#open.get(client);
    this.#open.delete(client);
    if (known?.headers === headers) {
      this.#open.set(client, known);
      return known.connection;
    }
    // The client has changed a secret.
    known?.connection.retire();
    this.#makeRoom();
    const secrets = secretsIn(this.#headers).map((slot) => scope.secret(slot));
    const connection = this.#connect(filled, secrets, () => {
      if (this.#open.get(client)?.connection === connection) this.#open.delete(client);
    });
    this.#open.set(client, { headers, connection });
    return connection;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(all.map(({ connection }) => connection.close()));
  }

  #makeRoom(): void {
    if (this.#open.size < MAX_CLIENTS) return;
    for (const [client, { connection }] of this.#open) {
      if (connection.isBusy) continue;
      this.#open.delete(client);
      connection.retire();
      return;
    }
    throw new Error("Too many users of this server are being served at the moment. Try again later.");
  }
}
