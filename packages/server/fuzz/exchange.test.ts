import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { exchange } from "./exchange.ts";

/** Milliseconds for which the machine stalls: longer than SILENCE_MS, shorter than TIMEOUT_MS. */
const STALL_MS = 1300;

let server: Server;
afterEach(() => {
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
});

/** Sends a request to a server that stalls before it responds. */
async function exchangeInStall(answers: number) {
  const stall = async () => {
    vi.advanceTimersByTime(STALL_MS);
    // A later connection proves that everything the client did during the stall has arrived.
    connect((server.address() as AddressInfo).port, "127.0.0.1").unref();
    await once(server, "connection");
  };
  server = createServer((_request, response) => void stall().then(() => response.end()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const bytes = Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return exchange({ port, bytes, cuts: [], answers, bodiless: -1, breaksOff: false });
}

describe("exchange on a stalled machine", () => {
  it("waits for the answer to a valid request", async () => {
    const { answers, end } = await exchangeInStall(1);
    expect([answers.map(({ status }) => status), end]).toEqual([[200], "answered"]);
  });

  it("half-closes after a request that may be incomplete", async () => {
    const { answers, end } = await exchangeInStall(0);
    expect([answers, end]).toEqual([[], "closed"]);
  });
});
