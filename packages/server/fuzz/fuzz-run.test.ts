import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createHttpClient, type HttpClient } from "../torture/harness/http-request.ts";
import { runFuzz } from "./fuzz-run.ts";

const DOCUMENT = {
  paths: {
    "/api/state": {
      get: {
        parameters: [
          { name: "X-Session-Id", in: "header", required: true, schema: { type: "string" } },
          { name: "user_state", in: "query", schema: { type: "string" } },
        ],
      },
    },
  },
};

function problem(status: number): string {
  return JSON.stringify({
    type: "about:blank",
    title: "x",
    status,
    detail: "Do it right.",
    code: "wrong",
    request_id: "r",
  });
}

/** A conforming server that answers nearly every request with the same problem document. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("X-Request-Id", "r");
  const url = request.url ?? "";
  const known = /^\/(openapi\.json|api\/(chat|state|sessions\/.*))(\?|$)/.test(url);
  if (!known) {
    response.writeHead(404, { "content-type": "application/problem+json" }).end(problem(404));
    return;
  }
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify(url === "/openapi.json" ? DOCUMENT : { is_processing: false, title: "Canary" }),
  );
}

let open: { server: Server; client: HttpClient } | null = null;
afterEach(() => {
  open?.client.close();
  open?.server.closeAllConnections();
  open?.server.close();
  open = null;
});

async function fuzz(change: (server: Server) => void) {
  const server = createServer({ requireHostHeader: false }, answer).listen(0, "127.0.0.1");
  server.on("clientError", (_error, socket) => {
    const body = problem(400);
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nX-Request-Id: r\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
  server.removeAllListeners("checkExpectation").on("checkExpectation", answer);
  change(server);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient(port);
  open = { server, client };
  return runFuzz({
    port,
    client,
    seed: "1",
    requests: 250,
    only: null,
    shortening: 8,
    residentBytes: () => null,
  });
}

describe("the fuzzer", () => {
  it("reports nothing for a conforming server", async () => {
    const result = await fuzz(() => {});
    expect(result.failures.map(({ wrong }) => wrong)).toEqual([]);
    expect(result.sent).toBe(250);
  });

  it("reports responses of the HTTP parser that are not problem documents, with the bytes that cause them", async () => {
    const result = await fuzz((server) => server.removeAllListeners("clientError"));
    expect(result.failures.length).toBeGreaterThan(0);
    expect(result.failures[0]?.wrong).toMatch(/no X-Request-Id: 4/);
    expect(result.failures[0]?.bytes.length).toBeLessThan(200);
  });

  it("reports a 500 that some inputs cause", async () => {
    const result = await fuzz((server) => {
      server.removeAllListeners("request");
      server.on("request", (request, response) => {
        if (request.url?.includes("%7B") !== true) return answer(request, response);
        response.writeHead(500).end();
      });
    });
    expect(result.failures.map(({ wrong }) => wrong)).toContainEqual(
      expect.stringContaining("server error: 500"),
    );
    expect(String(result.failures[0]?.bytes)).toContain("%7B");
  });

  it("reports a session that was changed by requests for other sessions", async () => {
    let requests = 0;
    const result = await fuzz((server) => {
      server.removeAllListeners("request");
      server.on("request", (request, response) => {
        requests += 1;
        if (requests < 200 || request.url !== "/api/state") return answer(request, response);
        response.setHeader("X-Request-Id", "r");
        response.end('{"is_processing":false,"title":"Other"}');
      });
    });
    expect(result.failures.map(({ kind }) => kind)).toContain("canary");
  });
});
