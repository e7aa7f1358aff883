import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chat, expectProblem, expectSnapshot, newSession, send, state } from "../black-box/client.ts";
import { bodyOf, userMessage } from "../black-box/ai-sdk-client.ts";
import { EventReader } from "../black-box/event-reader.ts";
import { Program } from "../black-box/server.ts";
import { isWithout } from "../programs.ts";
import { Nginx } from "./nginx.ts";

const MIB = 1024 * 1024;

describe.skipIf(await isWithout("nginx"))("nginx with the configuration of deploy/", () => {
  describe("in front of two nodes and an unreachable one", () => {
    let nodes: readonly Program[];
    let nginx: Nginx;
    /** A stream that stays idle during all tests. */
    let quiet: EventReader;
    beforeAll(async () => {
      nodes = await Promise.all([Program.start(), Program.start()]);
      const [first, second] = nodes.map(({ url }) => new URL(url).host);
      // Nothing listens on port 1.
      nginx = await Nginx.start([first!, second!, "127.0.0.1:1"]);
      quiet = await EventReader.connect(nginx.url, newSession());
    });
    afterAll(async () => {
      quiet?.leave();
      await nginx.stop();
      await Promise.all(nodes.map((node) => node.remove()));
    });

    it("forwards each event at once, even if nothing follows it", async () => {
      const session = newSession();
      // The nodes share no data here, so send to each, because the stream is on one of them.
      const tellAll = (method: string, path: string, json: unknown) =>
        Promise.all(nodes.map(({ url }) => send(url, method, path, { session, json })));
      await tellAll("POST", "/api/sessions", {});
      const reader = await EventReader.connect(nginx.url, session);
      for (const title of ["One", "Two", "Three"]) {
        await tellAll("PATCH", `/api/sessions/${session}`, { title });
        await reader.find((event) => event.type === "title_changed" && event.new_title === title);
      }
      expect(reader.other.filter((block) => block.startsWith(": "))).toEqual([]);
      reader.leave();
    });

    it("forwards text while the answer streams", async () => {
      const session = newSession();
      const reader = await EventReader.connect(nginx.url, session, { include: "messages" });
      await Promise.all(nodes.map(({ url }) => chat(url, session, "count to 1000")));
      await reader.find(({ type }) => type === "message_delta");
      const states = await Promise.all(nodes.map(({ url }) => state(url, session)));
      expect(states.map(({ is_processing }) => is_processing)).toEqual([true, true]);
      await Promise.all(nodes.map(({ url }) => send(url, "POST", "/api/interrupt", { session })));
      await reader.find(({ type }) => type === "message_completed");
      reader.leave();
    });

    it("waits for an answer as long as the client requested", async () => {
      const session = newSession();
      const answer = await send(nginx.url, "POST", "/api/chat?message=Hello", {
        session,
        headers: { Prefer: "wait=30" },
      });
      const snapshot = expectSnapshot(answer, session);
      expect(snapshot.is_processing).toBe(false);
      expect(snapshot.messages.map(({ sender }) => sender)).toEqual(["user", "agent"]);
    });

    it("balances over the nodes, and skips the unreachable one", async () => {
      const before = await Promise.all(nodes.map(({ url }) => documentsAnswered(url)));
      for (let count = 0; count < 12; count += 1) {
        expect((await send(nginx.url, "GET", "/openapi.json")).status).toBe(200);
      }
      const after = await Promise.all(nodes.map(({ url }) => documentsAnswered(url)));
      const shares = after.map((count, index) => count - before[index]!);
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(4);
      expect(shares[0]! + shares[1]!).toBe(12);
    });

    it("accepts the longest message, in query and body", async () => {
      const message = "語".repeat(32_768);
      await chat(nginx.url, newSession(), message);
      const session = newSession();
      expectSnapshot(await send(nginx.url, "POST", "/api/chat", { session, json: { message } }), session);
      expectProblem(
        await send(nginx.url, "POST", "/api/chat", { session, json: { message: `${message}x` } }),
        413,
      );
    });

    it("accepts the largest file and long conversations, and refuses larger ones as nodes do", async () => {
      const session = newSession();
      const upload = (bytes: number) =>
        send(nginx.url, "POST", "/api/files", {
          session,
          body: Buffer.alloc(bytes, "a"),
          headers: { "Content-Type": "text/plain" },
        });
      // As many as there are nodes: one of them cannot be reached.
      for (let count = 0; count < 3; count += 1) expect((await upload(20 * MIB)).status).toBe(200);
      for (const bytes of [20 * MIB + 1, 30 * MIB]) expectProblem(await upload(bytes), 413, "file_too_large");
      const earlier = Array.from({ length: 300 }, (_, index) => userMessage(`${index}${"a".repeat(10_000)}`));
      const conversation = bodyOf(newSession(), [...earlier, userMessage("hello")]);
      const answered = await send(nginx.url, "POST", "/api/ai-sdk/chat", { json: conversation });
      expect(answered.status).toBe(200);
    });

    it("hides operators' endpoints from the public", async () => {
      for (const path of ["/healthz", "/readyz", "/metrics"]) {
        expect((await send(nginx.url, "GET", path)).status).toBe(404);
      }
    });

    it("drops requests for foreign host names", async () => {
      for (const host of ["evil.example.net", "192.0.2.7"]) {
        await expect(send(nginx.url, "GET", "/api/state", { headers: { host } })).rejects.toThrow();
      }
      await expect.poll(() => nginx.logged()).toContain("GET /api/state 444 ");
    });

    it("logs no messages and no session ids", async () => {
      const session = newSession();
      await chat(nginx.url, session, "tell-nobody");
      await send(nginx.url, "GET", `/api/sessions/${session}`);
      await send(nginx.url, "GET", `/api/admin/sessions/${session}/messages`);
      await send(nginx.url, "POST", `/api/admin/sessions/${session}/interrupt`);
      await send(nginx.url, "GET", `/API/Admin//sessions/${session}`);
      const encoded = session
        .replaceAll("-", "%2D")
        .replace(/^./, (digit) => `%${digit.charCodeAt(0).toString(16)}`);
      for (const id of [
        session,
        session.toUpperCase(),
        encoded,
        encoded.replaceAll("%", "%25"),
        `x${session}`,
      ]) {
        // No route accepts an id with nested escapes, so that such a URL names no session.
        const headers = id.includes("%25") ? {} : { "X-Request-Id": session };
        await send(nginx.url, "GET", `/api/ai-sdk/chat/${id}/stream`, { session, headers });
        await send(nginx.url, "GET", `/api/sessions/${id}?id=${id}`, { headers });
        await send(nginx.url, "GET", `/${id}/${id}`);
      }
      await send(nginx.url, "GET", `/api/sessions/${session}/messages`, {
        headers: { "X-Request-Id": `a.${session}` },
      });
      const { headers } = await send(nginx.url, "GET", "/api/sessions?public_key=0xsecret");
      // nginx writes its log after the response, which the client may receive first.
      await expect.poll(() => nginx.logged()).toContain(headers["x-request-id"]);
      const logged = await nginx.logged();
      expect(logged).toContain("GET /api/sessions/... ");
      expect(logged).toContain("GET /api/admin/sessions/... ");
      expect(logged).toContain("GET /api/ai-sdk/chat/... ");
      expect(logged).toMatch(/GET \/api\/state 4\d\d /);
      for (const secret of ["tell-nobody", "0xsecret"]) expect(logged).not.toContain(secret);
      // The last group of digits is in no other field of a line, in no spelling.
      expect(decodeURIComponent(decodeURIComponent(logged)).toLowerCase()).not.toContain(session.slice(-12));
    });

    // Last, because the first heartbeat takes a while.
    it("keeps an idle stream open with heartbeats alone", async () => {
      const hasHeartbeat = () => quiet.other.some((block) => block.startsWith(": "));
      await expect.poll(hasHeartbeat, { timeout: 60_000 }).toBe(true);
      expect([quiet.ended, quiet.events]).toEqual([false, []]);
    });
  });

  describe("in front of unreachable nodes", () => {
    let nginx: Nginx;
    beforeAll(async () => {
      nginx = await Nginx.start(["127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1"]);
    });
    afterAll(() => nginx.stop());

    it("gives 503 like a node, and logs no messages either", async () => {
      const answer = await send(nginx.url, "POST", "/api/chat?message=tell-nobody", {
        session: newSession(),
      });
      expectProblem(answer, 503, "no_answer");
      expect(answer.headers["retry-after"]).toBe("1");
      expect(await nginx.logged()).not.toContain("tell-nobody");
    });
  });

  describe("in front of two stopping nodes and a running one", () => {
    const servers: Server[] = [];
    let nginx: Nginx;
    beforeAll(async () => {
      const refuse: RequestListener = (_request, response) => response.writeHead(503).end("stopping");
      const repeat: RequestListener = (request, response) => void request.pipe(response);
      const [first, second, third] = await Promise.all([refuse, refuse, repeat].map(listen));
      nginx = await Nginx.start([first!, second!, third!]);
    });
    afterAll(async () => {
      await nginx.stop();
      for (const server of servers) server.close().closeAllConnections();
    });

    it("retries a repeatable chat unchanged on another node", async () => {
      const body = "x".repeat(100_000);
      for (let count = 0; count < 9; count += 1) {
        const headers = { "Idempotency-Key": String(count) };
        const { status, text } = await send(nginx.url, "POST", "/api/chat", { body, headers });
        expect([status, text]).toEqual([200, body]);
      }
    });

    it("leaves retrying other chats to the client", async () => {
      const answers = [];
      for (let count = 0; count < 3; count += 1) answers.push(await send(nginx.url, "POST", "/api/chat"));
      expect(answers.filter(({ status }) => status === 503)).toHaveLength(2);
    });

    async function listen(answer: RequestListener): Promise<string> {
      const server = createServer(answer).listen(0, "127.0.0.1");
      servers.push(server);
      await once(server, "listening");
      return `127.0.0.1:${(server.address() as AddressInfo).port}`;
    }
  });

  describe("as seen by a node", () => {
    const requests: IncomingHttpHeaders[] = [];
    const sockets = new Set<unknown>();
    let node: Server;
    let nginx: Nginx;
    beforeAll(async () => {
      // The default of five seconds closes connections of a slow test.
      node = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
        requests.push(request.headers);
        sockets.add(request.socket);
        response.end();
      }).listen(0, "127.0.0.1");
      await once(node, "listening");
      const address = `127.0.0.1:${(node.address() as AddressInfo).port}`;
      nginx = await Nginx.start([address, address, address]);
    });
    afterAll(async () => {
      await nginx.stop();
      node.close();
      node.closeAllConnections();
    });

    it("reports the client's address and host unchanged, whatever the client claims", async () => {
      await send(nginx.url, "GET", "/api/state", { headers: { "X-Forwarded-For": "203.0.113.7" } });
      expect(requests.at(-1)).toMatchObject({
        "x-forwarded-for": "203.0.113.7, 127.0.0.1",
        "x-forwarded-proto": "http",
        host: new URL(nginx.url).host,
      });
    });

    it("reuses its connections", async () => {
      for (let count = 0; count < 30; count += 1) await send(nginx.url, "GET", "/api/state");
      // Three entries for one node make three connection pools.
      expect(sockets.size).toBeLessThanOrEqual(3);
    });
  });
});

/** Returns how often a node has served its OpenAPI document. */
async function documentsAnswered(url: string): Promise<number> {
  const { text } = await send(url, "GET", "/metrics");
  const line = /^colloquy_http_requests_total\{method="GET",route="\/openapi\.json",status="2xx"\} (\d+)$/m;
  return Number(line.exec(text)?.[1] ?? 0);
}
