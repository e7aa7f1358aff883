import { once } from "node:events";
import type { Server } from "node:http";

/** Listens on a free port of the loopback address and answers it. */
export async function listenOnFreePort(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Not listening on a port");
  return address.port;
}
