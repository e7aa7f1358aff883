import { once } from "node:events";
import type { Server } from "node:http";
import { KEEP_ALIVE_MS } from "../../src/http/http-config.ts";

/**
 * Listens on a free port of the loopback address and answers it. Connections stay as long as Colloquy keeps them: of the many that the
 * client has, those that it seldom needs would else be closed after five seconds, and fail the measurement when it does.
 */
export async function listenOnFreePort(server: Server): Promise<number> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Not listening on a port");
  return address.port;
}
