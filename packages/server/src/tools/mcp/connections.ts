// Chooses the connection of a turn: a shared one, or one per client if the headers hold client secrets.

import type { ToolScope } from "../tool-source.ts";
import type { McpConnection } from "./mcp-connection.ts";

export interface Connections {
  /** Throws `SecretMissing` if the turn's client has not set a secret that the server's headers need. */
  for(scope: ToolScope): McpConnection;
  retire(): void;
  /** Closes all connections and opens no new ones. */
  close(): Promise<void>;
}

export function oneConnection(connection: McpConnection): Connections {
  return {
    for: () => connection,
    retire: () => connection.retire(),
    close: () => connection.close(),
  };
}

export interface ClientConnectionsOptions {
  /** Returns the server's headers with the secrets of the turn's client. Throws `SecretMissing`. */
  readonly headersFor: (scope: ToolScope) => Readonly<Record<string, string>>;
  readonly open: (
    headers: Readonly<Record<string, string>>,
    scope: ToolScope,
    onIdle: () => void,
  ) => McpConnection;
  /** Maximum number of connected clients. */
  readonly limit: number;
}

interface ClientConnection {
  readonly headers: string;
  readonly connection: McpConnection;
}

/** One connection per client; the least recently used idle one makes room for a new one. */
export class ClientConnections implements Connections {
  readonly #options: ClientConnectionsOptions;
  /** Keyed by client id, least recently used first. */
  readonly #open = new Map<string, ClientConnection>();
  #isRetired = false;
  #isClosed = false;

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
  }

  for(scope: ToolScope): McpConnection {
    if (this.#isClosed) throw new Error("The service does not use this server any more.");
    const filled = this.#options.headersFor(scope);
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
    const connection = this.#options.open(filled, scope, () => this.#forget(client, connection));
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
    if (this.#open.size < this.#options.limit) return;
    for (const [client, { connection }] of this.#open) {
      if (connection.isBusy) continue;
      this.#open.delete(client);
      connection.retire();
      return;
    }
    throw new Error("Too many users of this server are being served at the moment. Try again later.");
  }

  #forget(client: string, connection: McpConnection): void {
    if (this.#open.get(client)?.connection === connection) this.#open.delete(client);
  }
}
