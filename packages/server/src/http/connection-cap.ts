import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Counter, type Registry } from "prom-client";
import { ServiceError } from "../core/errors.ts";
import { addressKey } from "./address-key.ts";
import type { HttpConfig } from "./http-config.ts";
import { PlaceLimiter } from "./places.ts";
import { refuseAtOnce } from "./parser-errors.ts";
import { trustedProxies } from "./trusted-proxies.ts";

export interface ConnectionCap {
  readonly config: Pick<HttpConfig, "trustedProxies" | "rateLimits">;
  /** False where only this machine connects: then none is refused. */
  readonly isPublic: boolean;
  readonly register: Registry;
  readonly nextId: () => string;
}

/**
 * Answers connections of an address beyond its number with 429, before anything is read from them, and ends them. Those of a trusted proxy
 * are of many clients, and not counted.
 */
export function capConnections(server: Server, { config, isPublic, register, nextId }: ConnectionCap): void {
  const isProxy = trustedProxies(config.trustedProxies);
  const places = new PlaceLimiter(config.rateLimits.connectionsPerAddress);
  const refused = new Counter({
    name: "colloquy_connections_refused_total",
    help: "Connections that were refused because their address had too many open",
    registers: [register],
  });
  if (!isPublic) return;
  server.on("connection", (socket: Socket) => {
    if (isProxy(socket.remoteAddress)) return;
    const address = addressKey(socket.remoteAddress);
    try {
      places.take(address, "connections of one address");
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      refused.inc();
      refuseAtOnce(error, socket, nextId());
      return;
    }
    socket.once("close", () => places.give(address));
  });
}
