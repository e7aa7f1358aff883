// The rest of the world: a proxy that records requests and refuses them. It sees what page events do not
// report: web sockets, and requests of workers.

import { once } from "node:events";
import { createServer, type Server } from "node:http";

/**
 * Hosts that Chromium contacts by itself, for updates and accounts. Requests of pages to them appear as page
 * events.
 */
const OF_THE_BROWSER = /^\w+ (https?:\/\/)?([\w-]+\.)*(google|googleapis|gstatic|gvt1)\.com[:/]/;

export class Outside {
  readonly #server: Server;
  #asked: string[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#note(`${request.method ?? ""} ${request.url ?? ""}`);
      response.writeHead(502).end();
    });
    // Encrypted requests arrive as CONNECT.
    this.#server.on("connect", (request, socket) => {
      this.#note(`CONNECT ${request.url ?? ""}`);
      socket.on("error", () => undefined);
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
  }

  static async start(): Promise<Outside> {
    const outside = new Outside();
    outside.#server.listen(0, "127.0.0.1");
    await once(outside.#server, "listening");
    return outside;
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The proxy is not listening");
    return `127.0.0.1:${address.port}`;
  }

  #note(asked: string): void {
    if (!OF_THE_BROWSER.test(asked)) this.#asked.push(asked);
  }

  /** Returns the requests since the last call, as `METHOD address`. */
  take(): readonly string[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}
