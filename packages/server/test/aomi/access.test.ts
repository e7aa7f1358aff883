// Access to the agent API: served Apps and keys.

import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { describe, expect, it } from "vitest";
import { BEHIND_PROXY, type ProtocolServiceOptions } from "../protocol-service.ts";
import { post, useProtocolService } from "../use-protocol-service.ts";

const startService = useProtocolService();

async function start(options: ProtocolServiceOptions = {}) {
  const service = await startService(options);
  const send = async (headers: Readonly<Record<string, string>> = {}, body: object = {}) =>
    await post(
      `${service.url}/v1/agent/chat`,
      { sessionId: randomUUID(), message: "hello", ...body },
      headers,
    );
  return { service, send };
}

async function codeOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { readonly error: { readonly code: unknown } }).error.code;
}

describe("the agent API", () => {
  it("serves the default App on loopback, with any Bearer, and no other App", async () => {
    const { service, send } = await start();
    expect((await send()).status).toBe(200);
    expect((await send({ Authorization: "Bearer any" })).status).toBe(200);
    expect((await send({ "Content-Type": "text/plain" })).status).toBe(415);
    const key = await service.createKey("shop");
    const refused = await send({ "Aomi-App-Key": key }, { app: "shop" });
    expect([refused.status, await codeOf(refused)]).toEqual([404, "app_not_found"]);
  });

  it("hides the conversations of Apps that are not served", async () => {
    const { service } = await start();
    const key = await service.createKey("shop");
    const id = randomUUID();
    await createClient({ baseUrl: service.url, key, app: "shop" }).sendMessage(id, "a secret");
    for (const path of [`chat/${id}`, `chat/${id}/stream`, `sessions/${id}`]) {
      const answer = await fetch(`${service.url}/v1/agent/${path}`, { headers: { "Aomi-App-Key": key } });
      expect(answer.status).toBe(404);
      expect(await answer.text()).not.toContain("a secret");
    }
  });

  it("is disabled behind a proxy, and explains in the 404 how to enable it", async () => {
    const { service, send } = await start({ environment: BEHIND_PROXY });
    const answer = await send();
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('"aomi": { "apps"') });
    const openai = await fetch(`${service.url}/v1/models`);
    expect(await openai.json()).toMatchObject({ detail: expect.stringContaining('"openai": { "apps"') });
  });

  it("names its paths in the 404 for one that it does not have", async () => {
    const { service } = await start();
    const answer = await fetch(`${service.url}/v1/agent/mcp`, { method: "POST" });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      error: { code: "route_not_found", message: expect.stringContaining("docs/protocols/aomi.md") },
    });
  });

  it("takes keys in each of their headers, with the codes that clients know", async () => {
    const { service, send } = await start({
      environment: BEHIND_PROXY,
      protocols: { aomi: { apps: ["default", "shop", "club"] } },
    });
    const key = await service.createKey("shop");
    for (const headers of [
      { "Aomi-App-Key": key },
      { "AOMI-APP-KEY": key },
      { "X-API-Key": key },
      { "SERVICE-APP-KEY": key },
      { Authorization: `Bearer ${key}` },
    ])
      expect((await send(headers as Record<string, string>, { app: "shop" })).status).toBe(200);
    const missing = await send({}, { app: "shop" });
    expect([missing.status, await codeOf(missing)]).toEqual([401, "app_key_required"]);
    const other = await send({ "Aomi-App-Key": key }, { app: "club" });
    expect([other.status, await codeOf(other)]).toEqual([403, "app_key_not_scoped"]);
    expect((await send({ Authorization: "Bearer any" })).status).toBe(401);
    expect((await send()).status).toBe(200);
  });
});
