// Behind a corporate proxy that alone resolves names, with a private certificate authority.

import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestCertificate } from "@colloquy/engine/internal/tools/outbound/testing/test-certificate";
import { newSession, send, whenIdle } from "../black-box/client.ts";
import { EventReader } from "../black-box/event-reader.ts";
import { endProcess, listening, startIn, type Listening } from "../watched-process.ts";
import { ConnectProxy } from "./connect-proxy.ts";

const HOSTS = ["model.test", "mcp.test", "pets.test", "issuer.test", "chain.test"];
const CONFIG = {
  providers: {
    corp: { kind: "openai-compatible", baseURL: "https://model.test/v1" },
    plain: { kind: "openai-compatible", baseURL: "http://plain.test/v1" },
  },
  chains: { "1": { rpcURL: "https://chain.test/", name: "Test" } },
  apps: {
    default: {
      models: ["corp/one", "plain/one"],
      mcp: { maps: { url: "https://mcp.test/mcp" } },
      openapi: { pets: { document: "https://pets.test/openapi.json", operations: ["list"] } },
      users: { issuer: "https://issuer.test", audience: "test" },
    },
  },
};
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "1" },
  servers: [{ url: "https://pets.test" }],
  paths: { "/pets": { get: { operationId: "list", responses: { "200": { description: "Pets" } } } } },
};

describe("behind a proxy", () => {
  const undo: (() => unknown)[] = [];
  /** Hosts and paths of requests at the servers. */
  let seen: string[];
  let proxy: ConnectProxy;
  let folder: string;
  let environment: Record<string, string>;

  beforeEach(async () => {
    seen = [];
    const answer: RequestListener = (request, response) => {
      seen.push(`${request.headers.host}${request.url}`);
      respond(request, response);
    };
    const { cert, key } = createTestCertificate(HOSTS);
    const [secure, plain] = [createSecureServer({ cert, key }, answer), createServer(answer)];
    for (const server of [secure, plain]) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      undo.push(() => (server.closeAllConnections(), server.close()));
    }
    const portOf = (server: typeof plain): number => (server.address() as AddressInfo).port;
    proxy = await ConnectProxy.start({ encrypted: portOf(secure), plain: portOf(plain) });
    undo.push(() => proxy.stop());
    folder = await mkdtemp(join(tmpdir(), "colloquy-proxies-"));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "colloquy.config.json"), JSON.stringify(CONFIG));
    await writeFile(join(folder, "ca.pem"), cert);
    environment = {
      https_proxy: `http://someone:p%40ss@127.0.0.1:${proxy.port}`,
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
      NODE_EXTRA_CA_CERTS: join(folder, "ca.pem"),
    };
  });
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  });

  async function serve(): Promise<Listening> {
    const service = await listening(startIn(folder, environment));
    undo.push(() => endProcess(service));
    return service;
  }

  async function doctor(...options: readonly string[]): Promise<string> {
    const run = startIn(folder, environment, "doctor", ...options);
    undo.push(() => endProcess(run));
    await run.exited();
    return run.output() + run.errors();
  }

  it("reaches models, MCP servers, OpenAPI services and issuers through it", async () => {
    const { address } = await serve();
    const session = newSession();
    for (const model of ["corp/one", "plain/one"]) {
      const chat = await send(address, "POST", `/api/chat?message=hi&rig=${model}`, { session });
      expect(chat.status).toBe(200);
      expect((await whenIdle(address, session)).messages.at(-1)).toMatchObject({
        content: "Hello.",
        status: "complete",
      });
    }
    const token = [
      { alg: "ES256", kid: "one" },
      { iss: "https://issuer.test", aud: "test" },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    const headers = { authorization: `Bearer ${token}.AAAA` };
    await send(address, "GET", "/api/state", { session: newSession(), headers });
    expect(proxy.asked).toEqual(
      expect.arrayContaining([
        "model.test:443",
        "http://plain.test/v1/chat/completions",
        "mcp.test:443",
        "pets.test:443",
        "issuer.test:443",
      ]),
    );
    expect(seen).toEqual(
      expect.arrayContaining([
        "mcp.test/mcp",
        "pets.test/openapi.json",
        "issuer.test/.well-known/openid-configuration",
      ]),
    );
    expect(proxy.authorizations).toEqual(
      new Set([`Basic ${Buffer.from("someone:p@ss").toString("base64")}`]),
    );
  });

  it.each([
    [502, "the server's proxy refused the connection (status 502)"],
    [407, "the server's proxy refused the connection (status 407)"],
    [null, "the server's proxy cannot be reached"],
  ])(
    "names the proxy, and not the model, if it answers %s",
    async (refusal, reason) => {
      proxy.refusal = refusal;
      if (refusal === null) await proxy.stop();
      const config = {
        ...CONFIG,
        limits: { maxModelRetries: 0 },
        apps: { default: { models: ["corp/one"] } },
      };
      await writeFile(join(folder, "colloquy.config.json"), JSON.stringify(config));
      const service = await serve();
      const session = newSession();
      const reader = await EventReader.connect(service.address, session);
      await send(service.address, "POST", "/api/chat?message=hi", { session });
      expect((await reader.find(({ type }) => type === "system_notice")).event).toMatchObject({
        code: "model_unavailable",
        message: expect.stringContaining(`The assistant's model was not asked, because ${reason}`),
      });
      await service.find(new RegExp(`"errno":"PROXY_${refusal ?? "ECONNREFUSED"}"`));
      expect(service.output() + service.errors()).not.toMatch(/p%40ss|p@ss/);
    },
    60_000,
  );

  it("is described by the doctor, with what each proxy is used for", async () => {
    environment["NO_PROXY"] = ".pets.test,model.test:8443,10.0.0.0/8";
    const said = await doctor();
    expect(said).toContain(
      `http://127.0.0.1:${proxy.port} is used for provider corp, provider plain, mcp maps, issuer https://issuer.test, chain 1.`,
    );
    expect(said).toContain("Without a proxy: openapi pets.");
    expect(said).not.toMatch(/p%40ss|p@ss/);
  });

  it("is refused at the start if its variable holds no URL of an HTTP proxy", async () => {
    environment["https_proxy"] = "socks5://127.0.0.1:1080";
    const started = startIn(folder, environment);
    undo.push(() => endProcess(started));
    expect(await started.exited()).toEqual({ code: 2, signal: null });
    expect(started.errors()).toContain("https_proxy: must be the URL of an HTTP proxy");
  });

  function respond({ headers: { host } }: IncomingMessage, response: Parameters<RequestListener>[1]): void {
    if (host === "pets.test") return void response.end(JSON.stringify(DOCUMENT));
    if (host !== "model.test" && host !== "plain.test") return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const choice = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: "1", created: 1, model: "one", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    response.end(
      `${choice({ role: "assistant", content: "Hello." }, null)}${choice({}, "stop")}data: [DONE]\n\n`,
    );
  }
});
