// Local servers for tests of the guard. A second loopback address stands in for a public one.

import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TestCertificate } from "./test-certificate.ts";

/**
 * Returns a loopback address other than 127.0.0.1 to listen on: not every platform has all of 127.0.0.0/8.
 */
export async function secondAddress(): Promise<string> {
  const candidates = ["127.0.0.2", "::1"];
  for (const address of candidates) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(0, address, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return address;
  }
  throw new Error(`These tests need one of ${candidates.join(", ")} to listen on.`);
}

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface TestServer {
  readonly port: number;
  /** All requests received so far. */
  readonly seen: readonly SeenRequest[];
  /** Number of connections, with or without a request. */
  readonly connections: () => number;
  stop(): Promise<void>;
}

/**
 * Listens on `address`, with TLS if there is a certificate. `answer` is called once a request is complete.
 */
export async function startTestServer(
  address: string,
  answer: (...parts: Parameters<RequestListener>) => void,
  certificate?: TestCertificate,
): Promise<TestServer> {
  const seen: SeenRequest[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      answer(request, response);
    });
  };
  const server: Server =
    certificate === undefined ? createServer(listener) : createSecureServer(certificate, listener);
  let connections = 0;
  server.on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    connections: () => connections,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
