import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers like a Colloquy service, but is a different one. */
export class OtherService {
  /** Requests received, as `METHOD path`. */
  readonly received: string[] = [];
  readonly #server: Server = createServer(({ method, url }, response) => {
    this.received.push(`${method} ${url}`);
    response.setHeader("content-type", "application/json").end('{"status":"ok"}');
  });

  static async start(): Promise<OtherService> {
    const stranger = new OtherService();
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
