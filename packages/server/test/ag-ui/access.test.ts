// Access to AG-UI: served Apps and `Authorization: Bearer`.

import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { describe, expect, it } from "vitest";
import { BEHIND_PROXY, type ProtocolServiceOptions } from "../protocol-service.ts";
import { post, useProtocolService } from "../use-protocol-service.ts";

const startService = useProtocolService();

async function start(options: ProtocolServiceOptions = {}) {
  const service = await startService(options);
  const run = async (query = "", headers: Readonly<Record<string, string>> = {}, body: object = {}) =>
    await post(
      `${service.url}/api/ag-ui${query}`,
      { threadId: randomUUID(), runId: "run", messages: [], ...body },
      headers,
    );
  return { service, run };
}

describe("AG-UI", () => {
  it("serves the default App on loopback, with any Bearer, and no other App", async () => {
    const { service, run } = await start();
    expect((await run()).status).toBe(200);
    expect((await run("", { Authorization: "Bearer any" })).status).toBe(200);
    expect((await run("", { "Content-Type": "text/plain" })).status).toBe(415);
    const key = await service.createKey("shop");
    const refused = await run("?app=shop", { Authorization: `Bearer ${key}` });
    expect([refused.status, await refused.json()]).toMatchObject([
      404,
      { type: "RUN_ERROR", code: "app_not_served", message: expect.stringContaining('"apps": ["shop"]') },
    ]);
  });

  it("shows no conversation of an App that is not served", async () => {
    const { service, run } = await start();
    const key = await service.createKey("shop");
    const threadId = randomUUID();
    await createClient({ baseUrl: service.url, key, app: "shop" }).sendMessage(threadId, "a secret");
    const answer = await run("", { Authorization: `Bearer ${key}` }, { threadId });
    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toContain("a secret");
  });

  it("shows no conversation of the default App if only another App is served", async () => {
    const { service, run } = await start({ protocols: { "ag-ui": { apps: ["shop"] } } });
    const key = await service.createKey("shop");
    const [threadId, empty] = [randomUUID(), randomUUID()];
    const native = createClient({ baseUrl: service.url });
    await native.sendMessage(threadId, "a secret");
    await native.createSession(empty);
    const headers = { Authorization: `Bearer ${key}` };
    const answer = await run("?app=shop", headers, { threadId });
    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toContain("a secret");
    expect((await run("?app=shop", headers, { threadId: empty })).status).toBe(200);
  });

  it("is disabled behind a proxy, and explains in the 404 how to enable it", async () => {
    const { run } = await start({ environment: BEHIND_PROXY });
    const answer = await run();
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('"ag-ui": { "apps"') });
  });

  it("accepts a key as Bearer, and rejects an unknown key unless on loopback", async () => {
    const { service, run } = await start({
      environment: BEHIND_PROXY,
      protocols: { "ag-ui": { apps: ["default", "shop"] } },
    });
    const key = await service.createKey("shop");
    expect((await run("?app=shop", { Authorization: `Bearer ${key}` })).status).toBe(200);
    expect((await run("?app=shop")).status).toBe(401);
    expect((await run("", { Authorization: "Bearer any" })).status).toBe(401);
    expect((await run()).status).toBe(200);
  });
});
