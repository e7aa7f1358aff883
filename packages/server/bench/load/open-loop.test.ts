import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { runOpenLoop } from "./open-loop.ts";
import { getRequest } from "./requests.ts";

let server: Server;

async function listen(onRequest: (from: Socket) => void): Promise<number> {
  server = createServer((request, response) => {
    onRequest(request.socket);
    response.end("{}");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

afterEach(() => void server.close());

describe("an offered load", () => {
  it("uses its connections in turn, so that none is idle for so long that the server ends it", async () => {
    const asked = new Map<Socket, number>();
    const port = await listen((from) => asked.set(from, (asked.get(from) ?? 0) + 1));
    const plan = { kind: "fixed", request: getRequest("/", "anybody") } as const;
    const load = { name: "states", port, plan, perSecond: 200 };
    const [result] = await runOpenLoop({ loads: [load], connections: 4, warmUpMs: 0, measuredMs: 400 });
    expect(result?.statuses).toEqual({ 200: 80 });
    const counts = [...asked.values()];
    expect(counts).toHaveLength(4);
    // All twenty each where no answer overtook another one.
    expect(Math.min(...counts)).toBeGreaterThan(10);
  });
});
