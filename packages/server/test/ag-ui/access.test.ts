// Access to AG-UI: served Apps and `Authorization: Bearer`.

import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { afterEach, describe, expect, it } from "vitest";
import {
  type ProtocolService,
  type ProtocolServiceOptions,
  startProtocolService,
} from "../protocol-service.ts";

const BEHIND_PROXY = { COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" };
let service: ProtocolService | null = null;
afterEach(() => service?.close());

async function start(options: ProtocolServiceOptions = {}) {
  service = await startProtocolService(options);
  const { url } = service;
  return async (query = "", headers: Readonly<Record<string, string>> = {}, body: object = {}) =>
    await fetch(`${url}/api/ag-ui${query}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ threadId: randomUUID(), runId: "run", messages: [], ...body }),
    });
}

describe("AG-UI", () => {
  it("serves the default App on loopback, with any Bearer, and no other App", async () => {
    const run = await start();
    expect((await run()).status).toBe(200);
    expect((await run("", { Authorization: "Bearer any" })).status).toBe(200);
    expect((await run("", { "Content-Type": "text/plain" })).status).toBe(415);
    const key = await service!.createKey("shop");
    const refused = await run("?app=shop", { Authorization: `Bearer ${key}` });
    expect([refused.status, await refused.json()]).toMatchObject([
      404,
      { type: "RUN_ERROR", code: "app_not_served", message: expect.stringContaining('"apps": ["shop"]') },
    ]);
  });

  it("shows no conversation of an App that is not served", async () => {
    const run = await start();
    const key = await service!.createKey("shop");
    const threadId = randomUUID();
    await createClient({ baseUrl: service!.url, key, app: "shop" }).sendMessage(threadId, "a secret");
    const answer = await run("", { Authorization: `Bearer ${key}` }, { threadId });
    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toContain("a secret");
  });

  it("shows no conversation of the default App if only another App is served", async () => {
    const run = await start({ protocols: { "ag-ui": { apps: ["shop"] } } });
    const key = await service!.createKey("shop");
    const [threadId, empty] = [randomUUID(), randomUUID()];
    const native = createClient({ baseUrl: service!.url });
    await native.sendMessage(threadId, "a secret");
    await native.createSession(empty);
    const headers = { Authorization: `Bearer ${key}` };
    const answer = await run("?app=shop", headers, { threadId });
    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toContain("a secret");
    expect((await run("?app=shop", headers, { threadId: empty })).status).toBe(200);
  });

  it("is disabled behind a proxy, and explains in the 404 how to enable it", async () => {
    const run = await start({ environment: BEHIND_PROXY });
    const answer = await run();
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('"ag-ui": { "apps"') });
  });

  it("accepts a key as Bearer, and rejects an unknown key unless on loopback", async () => {
    const run = await start({
      environment: BEHIND_PROXY,
      protocols: { "ag-ui": { apps: ["default", "shop"] } },
    });
    const key = await service!.createKey("shop");
    expect((await run("?app=shop", { Authorization: `Bearer ${key}` })).status).toBe(200);
    expect((await run("?app=shop")).status).toBe(401);
    expect((await run("", { Authorization: "Bearer any" })).status).toBe(401);
    expect((await run()).status).toBe(200);
  });
});
