// The tools of one MCP server for one App.

import { createHash } from "node:crypto";
import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../../core/app-settings.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { SecretMissing, type ToolContext, type ToolEffect } from "../../core/ports/driven/tool.ts";
import type { SchemaCheck } from "../../core/ports/driven/schema-check.ts";
import { cleanText } from "../../core/json.ts";
import { scrubText, type Scrubber } from "../scrub.ts";
import { messageOf } from "../call-tool.ts";
import {
  toolNameOf,
  createStandIn,
  type SourcePlan,
  type SourceTool,
  type UnavailableTools,
  type ToolScope,
  type ToolSource,
} from "../tool-source.ts";
import { fillSecrets, secretsIn, ownScrubber } from "../secret-headers.ts";
import { failureText, McpUnavailable } from "./mcp-failure.ts";
import { McpConnection } from "./mcp-connection.ts";
import { readMcpTool } from "./mcp-tool.ts";
import { openClient } from "./open-client.ts";

/** Maximum time that a turn waits for the first list of a server's tools. */
const FIRST_LIST_MS = 5_000;
/** Maximum length of a logged stderr line in characters. */
const MAX_LOGGED_LINE = 1_000;
/** Maximum number of connected clients of one server. */
const MAX_CLIENTS = 200;

export interface McpOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Configured effects by the tool name that the model sees; absent for none. */
  readonly effects?: Readonly<Record<string, ToolEffect>>;
  readonly schemas: SchemaCheck;
  /** Returns a number from 0 to 1; defaults to `Math.random`. */
  readonly random?: () => number;
}

/** Plans the source of an MCP server's tools, named `SERVER_TOOL`. It connects when a turn first needs it. */
export function planMcpServer(server: string, settings: McpServerSettings, options: McpOptions): SourcePlan {
  return { key: keyOf(server, settings, options), create: () => new McpSource(server, settings, options) };
}

class McpSource implements ToolSource {
  readonly label: string;
  readonly #server: string;
  readonly #logger: Logger;
  readonly #connections: Connections;
  readonly #effects: NonNullable<McpOptions["effects"]>;
  readonly #schemas: SchemaCheck;
  readonly #read = new WeakMap<readonly ListedTool[], readonly SourceTool[]>();
  readonly #standIns = new Map<string, readonly SourceTool[]>();

  constructor(server: string, settings: McpServerSettings, options: McpOptions) {
    this.label = `mcp ${server}`;
    this.#server = server;
    this.#logger = options.logger;
    this.#effects = options.effects ?? {};
    this.#schemas = options.schemas;
    this.#connections = connectionsTo(server, settings, options);
  }

  async list(scope: ToolScope, signal: AbortSignal): Promise<readonly SourceTool[]> {
    let connection: McpConnection;
    try {
      connection = this.#connections.for(scope);
    } catch (error) {
      if (error instanceof SecretMissing)
        return this.#standIn(`The user has not set the secret "${error.slot}".`, {
          missingSecret: error.slot,
          isClientSpecific: true,
        });
      // An error of this service for this client only: an unreadable secret, an invalid header value, or too
      // many clients.
      const failure = messageOf(error);
      this.#logger.warn({ server: this.#server, failure }, "an MCP server cannot be used in a turn");
      return this.#standIn(failure, { isClientSpecific: true });
    }
    const listed = await connection.list(FIRST_LIST_MS, signal);
    if (listed === null) return this.#standIn("Their server cannot be reached at the moment.");
    let tools = this.#read.get(listed);
    if (tools === undefined) {
      tools = listed.flatMap((tool) => this.#readTool(tool, connection.scrub));
      this.#read.set(listed, tools);
    }
    return tools;
  }

  retire(): void {
    this.#connections.retire();
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  #readTool(listed: ListedTool, scrub: Scrubber): readonly SourceTool[] {
    try {
      const connect = (context: ToolContext): McpConnection => this.#connections.for(context);
      const more = { effects: this.#effects, schemas: this.#schemas };
      return [readMcpTool(this.#server, listed, { connect, scrub, ...more })];
    } catch (error) {
      const fields = { server: this.#server, failure: failureText(error, scrub) };
      this.#logger.warn(fields, "a tool of an MCP server is omitted");
      return [];
    }
  }

  /** Returns a stand-in while the server's tools are unknown. Returns the same list for the same reason. */
  #standIn(
    reason: string,
    more: Pick<UnavailableTools, "missingSecret" | "isClientSpecific"> = {},
  ): readonly SourceTool[] {
    const known = this.#standIns.get(reason);
    if (known !== undefined) return known;
    const look = async (context: ToolContext): Promise<void> => {
      const listed = await this.#connections.for(context).list(FIRST_LIST_MS, context.signal);
      if (listed === null) throw new McpUnavailable(this.#server);
    };
    const list = [createStandIn({ prefix: toolNameOf(this.#server, ""), reason, ...more, look })];
    this.#standIns.set(reason, list);
    return list;
  }
}

function connectionsTo(server: string, settings: McpServerSettings, options: McpOptions): Connections {
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
  return { for: () => connection, retire: () => connection.retire(), close: () => connection.close() };
}

/** Returns a digest of the settings, because headers and environment are secret. */
function keyOf(server: string, settings: McpServerSettings, { effects = {} }: McpOptions): string {
  const own = Object.entries(effects).filter(([name]) => name.startsWith(toolNameOf(server, "")));
  const all =
    settings.transport === "http"
      ? [server, own, settings.url, settings.headers.reveal()]
      : [server, own, settings.command, settings.args, settings.env.reveal()];
  return `mcp ${createHash("sha256").update(JSON.stringify(all)).digest("base64")}`;
}

/** Chooses the connection of a turn: a shared one, or one per client if the headers hold client secrets. */
interface Connections {
  /** Throws `SecretMissing` if the turn's client has not set a secret that the server's headers need. */
  for(scope: ToolScope): McpConnection;
  retire(): void;
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
  #isRetired = false;
  #isClosed = false;

  /** @param headers may contain placeholders for secrets of a turn's client. */
  constructor(headers: Headers, connect: Connect) {
    this.#headers = headers;
    this.#connect = connect;
  }

  for(scope: ToolScope): McpConnection {
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
    if (this.#isRetired) connection.retire();
    return connection;
  }

  retire(): void {
    this.#isRetired = true;
    for (const { connection } of this.#open.values()) connection.retire();
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
