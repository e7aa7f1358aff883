// A small HTTP proxy on loopback that leads every name to one server, as if it alone could resolve names.

import { createServer, request, type Server } from "node:http";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";

export interface Targets {
  /** Ports for tunnels, and for plain http. */
  readonly encrypted: number;
  readonly plain: number;
  /** Address of tunnels; 127.0.0.1 when absent. */
  readonly host?: string;
}

export class ConnectProxy {
  /** Targets that were asked for: `host:port` of tunnels, URLs of plain requests. */
  readonly asked: string[] = [];
  readonly authorizations = new Set<string | undefined>();
  /** Status in place of a connection; `null` to connect. */
  refusal: number | null = null;
  readonly #server: Server;

  private constructor(targets: Targets) {
    this.#server = createServer((incoming, outgoing) => {
      this.asked.push(incoming.url ?? "");
      const forwarded = request(
        {
          port: targets.plain,
          method: incoming.method,
          path: new URL(incoming.url ?? "").pathname,
          headers: incoming.headers,
        },
        (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers)),
      );
      incoming.pipe(forwarded);
    });
    this.#server.on("connect", (incoming, socket) => {
      this.asked.push(incoming.url ?? "");
      this.authorizations.add(incoming.headers["proxy-authorization"]);
      socket.on("error", () => undefined);
      if (this.refusal !== null) return void socket.end(`HTTP/1.1 ${this.refusal} Refused\r\n\r\n`);
      const upstream = connect(targets.encrypted, targets.host ?? "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on("error", () => socket.destroy());
      socket.on("close", () => upstream.destroy());
    });
  }

  static async start(targets: Targets): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(targets);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close").catch(() => undefined);
  }
}
