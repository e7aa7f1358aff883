// Errors that operations have in common. Errors of single operations are in their own files.

import { connect } from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { chat, expectProblem, newSession, send, state } from "./client.ts";
import { type Operation, OPERATIONS, perform } from "./operations.ts";
import { useService } from "./server.ts";

const url = useService();
/** Health probes may use any host. */
const FOR_ANY_HOST: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/** Returns a session for an operation, created if its path names one. */
async function sessionFor(operation: Operation): Promise<string> {
  const session = newSession();
  if (operation.byPath) await send(url(), "POST", "/api/sessions", { session });
  return session;
}

/** Returns the start of the answer to these bytes. */
async function sendRaw(request: string): Promise<string> {
  const { hostname, port } = new URL(url());
  const socket = connect(Number(port), hostname);
  socket.write(request);
  const [bytes] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return bytes.toString();
}

async function expectUnknown(session: string): Promise<void> {
  expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
}

describe.each(OPERATIONS.filter(({ needsSession }) => needsSession))("$name", (operation) => {
  it("requires the header X-Session-Id, else 400", async () => {
    const session = newSession();
    const answer = await send(url(), operation.method, operation.path(session), operation.call);
    expectProblem(answer, 400, "session_id_missing");
  });

  it.each([
    ["is no UUID", "nonsense"],
    ["is empty", ""],
    ["is the nil UUID", "00000000-0000-0000-0000-000000000000"],
    ["is the max UUID", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"],
    ["has braces", "{7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11}"],
  ])("rejects a session id that %s with 400", async (_name, session) => {
    expectProblem(await perform(url(), operation, newSession(), { session }), 400, "session_id_invalid");
  });

  it("rejects a repeated session id with 400, and creates nothing", async () => {
    const session = newSession();
    const twice = [session, session];
    expectProblem(await perform(url(), operation, session, { session: twice }), 400, "session_id_invalid");
    await expectUnknown(session);
  });
});

describe.each(OPERATIONS.filter(({ byPath }) => byPath))("$name", (operation) => {
  it("answers 404 for an unused id, and creates nothing", async () => {
    const session = newSession();
    expectProblem(await perform(url(), operation, session), 404);
    expectProblem(await perform(url(), operation, session, { session }), 404);
    await expectUnknown(session);
  });

  it.each(["nonsense", "00000000-0000-0000-0000-000000000000", "%20", "a".repeat(5000)])(
    "rejects the id %s with 400",
    async (id) => {
      expectProblem(await perform(url(), operation, id), 400);
    },
  );
});

describe.each(OPERATIONS)("$name", (operation) => {
  it.each([
    ["broken percent-encoding", "x=%zz"],
    ["percent-encoding that is not UTF-8", "x=%ff"],
    ["an encoded lone surrogate", "x=%ED%A0%80"],
    ["an encoded NUL", "x=%00"],
  ])("rejects %s in the query with 400", async (_name, query) => {
    const session = newSession();
    const path = operation.path(session);
    const broken = { ...operation, path: () => `${path}${path.includes("?") ? "&" : "?"}${query}` };
    expectProblem(await perform(url(), broken, session), 400);
    await expectUnknown(session);
  });

  it("ignores unknown parameters", async () => {
    if (operation.name === "subscribe") return;
    const session = await sessionFor(operation);
    const path = operation.path(session);
    const more = { ...operation, path: () => `${path}${path.includes("?") ? "&" : "?"}colour=red` };
    expect((await perform(url(), more, session)).status).toBe(operation.status);
  });

  it("rejects a foreign Host on a loopback bind with 403, and creates nothing; probes are answered", async () => {
    const session = newSession();
    const answer = await perform(url(), operation, session, { headers: { Host: "evil.example" } });
    if (FOR_ANY_HOST.has(operation.path(session))) expect(answer.status).toBe(operation.status);
    else expectProblem(answer, 403, "host_not_allowed");
    await expectUnknown(session);
  });

  it("rejects the methods BREW with 400 and TRACE with 405", async () => {
    const session = newSession();
    const traced = await send(url(), "TRACE", operation.path(session), operation.call);
    expectProblem(traced, 405, "method_not_allowed");
    expect(traced.headers.allow?.split(", ")).toContain(operation.method);
    const answer = await sendRaw(`BREW ${operation.path(session)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/);
  });

  it("rejects two Host fields with 400, equal or not, and creates nothing", async () => {
    const session = newSession();
    const head = `${operation.method} ${operation.path(session)} HTTP/1.1\r\nX-Session-Id: ${session}`;
    for (const other of ["localhost", "evil.example"]) {
      const answer = await sendRaw(
        `${head}\r\nHost: localhost\r\nhost: ${other}\r\nContent-Length: 0\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*"http_invalid"/);
    }
    await expectUnknown(session);
  });

  it("returns the request id of the client", async () => {
    const answer = await perform(url(), operation, "nonsense", {
      session: "nonsense",
      headers: { "X-Request-Id": "mine-1" },
    });
    expect(answer.headers["x-request-id"]).toBe("mine-1");
  });

  it("allows pages of this machine, and answers their preflight", async () => {
    const headers = {
      Origin: "http://localhost:5173",
      "Access-Control-Request-Method": operation.method,
      "Access-Control-Request-Headers": "x-session-id",
    };
    const answer = await send(url(), "OPTIONS", operation.path(newSession()), { headers });
    expect(answer.status).toBe(204);
    expect(answer.headers["access-control-allow-origin"]).toBe("http://localhost:5173");
    expect(answer.headers["access-control-allow-methods"]).toContain(operation.method);
    expect(String(answer.headers["access-control-allow-headers"]).toLowerCase()).toContain("x-session-id");
  });
});

describe.each(OPERATIONS.filter(({ takesBody }) => takesBody))("$name", (operation) => {
  const withoutCall = { ...operation, call: {} };

  it.each([
    ["no JSON", "{", 400],
    ["JSON with NUL", String.raw`{"x":"\u0000"}`, 400],
    ["JSON with a lone surrogate in a key", String.raw`{"\ud800":1}`, 400],
    ["JSON that names a thing twice", '{"x":1,"x":2}', 400],
    ["JSON with a number that would be rounded", '{"x":12345678901234567}', 400],
    ["JSON that nests too deep", "[".repeat(40) + "]".repeat(40), 400],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), 400],
    ["more than 256 KiB", `{"x":"${"a".repeat(300_000)}"}`, 413],
  ])("rejects a body of %s", async (_name, body, status) => {
    const session = newSession();
    const headers = { "Content-Type": "application/json" };
    expectProblem(await perform(url(), withoutCall, session, { body, headers }), status);
    await expectUnknown(session);
  });

  it("rejects an unsupported content coding with 400", async () => {
    const session = newSession();
    const head = `${operation.method} ${operation.path(session)} HTTP/1.1\r\nHost: localhost\r\nX-Session-Id: ${session}`;
    const body = "2\r\n{}\r\n0\r\n\r\n";
    const answer = await sendRaw(`${head}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${body}`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*"http_invalid"/);
    await expectUnknown(session);
  });

  it("rejects another media type with 415", async () => {
    const session = newSession();
    const headers = { "Content-Type": "text/html" };
    expectProblem(await perform(url(), withoutCall, session, { body: "{}", headers }), 415);
    await expectUnknown(session);
  });
});

describe("other requests", () => {
  it.each(["/api", "/api/nothing", "/api/v2/state"])("answers GET %s with 404", async (path) => {
    expectProblem(await send(url(), "GET", path), 404, "route_not_found");
  });

  it("answers 431 to a head beyond 320 KiB", async () => {
    const path = `/api/state?x=${"a".repeat(330_000)}`;
    expectProblem(await send(url(), "GET", path, { session: newSession() }), 431);
  });

  it("denies an unlisted origin, also in its preflight", async () => {
    const headers = { Origin: "https://evil.example" };
    const answer = await send(url(), "GET", "/api/state", { session: newSession(), headers });
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(answer.headers.vary).toContain("Origin");
    const asked = { ...headers, "Access-Control-Request-Method": "GET" };
    expect(
      (await send(url(), "OPTIONS", "/api/state", { headers: asked })).headers["access-control-allow-origin"],
    ).toBeUndefined();
  });

  it("the service still works afterwards", async () => {
    const session = newSession();
    await chat(url(), session, "hello");
    expect((await state(url(), session)).messages[0]).toMatchObject({ sender: "user", content: "hello" });
  });
});
