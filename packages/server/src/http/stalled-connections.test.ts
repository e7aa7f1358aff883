import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { until } from "../../test/service.ts";
import { OpenConnections } from "./connections.ts";

const ANSWER = Buffer.alloc(64 * 1024 * 1024);

describe("a connection", () => {
  let clock: ManualClock;
  let server: Server;
  let connections: OpenConnections;
  let client: Socket;
  beforeEach(async () => {
    clock = new ManualClock();
    server = createServer();
    connections = new OpenConnections(server, clock);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterEach(() => {
    connections.stop();
    client.destroy();
    server.close();
  });

  /** Sends a request without reading the response. */
  async function ask(): Promise<ServerResponse> {
    client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    client.on("error", () => undefined);
    client.pause();
    client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
    return response;
  }

  const isOpen = (response: ServerResponse) => response.socket?.destroyed === false;

  it("is closed when its client reads nothing of a response for 30 seconds", async () => {
    const response = await ask();
    response.end(ANSWER);
    await until(() => (response.socket?.writableLength ?? 0) > 0);
    await clock.advance(30_000);
    expect(isOpen(response)).toBe(true);
    const closed = once(response, "close");
    await clock.advance(5000);
    await closed;
    expect(response.writableFinished).toBe(false);
  });

  it("stays open while its client reads, however slowly", async () => {
    const response = await ask();
    response.end(ANSWER);
    await until(() => (response.socket?.writableLength ?? 0) > 0);
    const { socket } = response;
    const handle = (socket as unknown as { _handle: { bytesWritten: number; writeQueueSize: number } })
      ._handle;
    const taken = () => handle.bytesWritten - handle.writeQueueSize;
    for (let round = 0; round < 4; round += 1) {
      await clock.advance(20_000);
      const before = taken();
      await until(() => {
        client.read(1024 * 1024);
        return taken() > before;
      });
    }
    expect(isOpen(response)).toBe(true);
  });

  it("stays open if there is nothing to read: when idle, or on a stream without events", async () => {
    const response = await ask();
    response.write("event");
    await until(() => response.socket?.writableLength === 0);
    await clock.advance(10 * 60_000);
    expect(isOpen(response)).toBe(true);
    response.end();
    await until(() => response.writableFinished);
    await clock.advance(10 * 60_000);
    expect(client.destroyed).toBe(false);
  });
});
