import { once } from "node:events";
import type { Server } from "node:http";
import { KEEP_ALIVE_MS } from "../../src/http/connections.ts";

/**
 * Listens on a free loopback port and returns it. Keeps idle connections as long as Colloquy: rarely used
 * ones would otherwise close after five seconds and fail the measurement.
 */
export async function listenOnFreePort(server: Server): Promise<number> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Not listening on a port");
  return address.port;
}
