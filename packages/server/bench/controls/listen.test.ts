import { createServer } from "node:http";
import { expect, it } from "vitest";
import { KEEP_ALIVE_MS } from "../../src/http/connections.ts";
import { listenOnFreePort } from "./listen.ts";

it("controls keep idle connections as long as Colloquy does", async () => {
  const server = createServer();
  try {
    expect(await listenOnFreePort(server)).toBeGreaterThan(0);
    expect(server.keepAliveTimeout).toBe(KEEP_ALIVE_MS);
  } finally {
    server.close();
  }
});
