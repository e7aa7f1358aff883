import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers like a Colloquy, and is not the one that is meant. */
export class Stranger {
  /** What it was asked, as `METHOD path`. */
  readonly heard: string[] = [];
  readonly #server: Server = createServer(({ method, url }, response) => {
    this.heard.push(`${method} ${url}`);
    response.setHeader("content-type", "application/json").end('{"status":"ok"}');
  });

  static async start(): Promise<Stranger> {
    const stranger = new Stranger();
    stranger.#server.listen(0, "127.0.0.1");
    await once(stranger.#server, "listening");
    return stranger;
  }

  get port(): string {
    return String((this.#server.address() as AddressInfo).port);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}
