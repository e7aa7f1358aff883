// Access to the MCP server: served Apps, `Authorization: Bearer`, and OAuth metadata for users.

import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { LIST, type McpService, MODERN, post, startMcp, useMcp } from "./mcp-service.ts";

const PROXIED = { COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" };
const codeOf = ({ text }: { readonly text: string }) =>
  (JSON.parse(text) as { error: { data: { code: string } } }).error.data.code;

describe("on loopback", () => {
  const service = useMcp();

  it("serves the default App with any Bearer, and no other App", async () => {
    for (const bearer of [null, "any"]) {
      const client = await service().connect(MODERN, bearer);
      expect((await client.listTools()).tools).not.toEqual([]);
    }
    const key = await service().createKey("shop");
    const other = await post(`${service().url}/mcp?app=shop`, LIST, { Authorization: `Bearer ${key}` });
    expect([other.status, codeOf(other)]).toEqual([404, "app_not_served"]);
    expect(JSON.parse(other.text)).toMatchObject({ id: LIST.id, error: { code: -32_000 } });
  });

  it("serves the path with a trailing slash, without a redirect", async () => {
    expect((await post(`${service().url}/mcp/`, LIST)).status).toBe(200);
  });

  it("explains in the 404 of other paths where the endpoint is", async () => {
    const answer = await post(`${service().url}/mcp/sse`, LIST);
    expect(answer.status).toBe(404);
    expect(answer.text).toContain("endpoint of this server is /mcp");
  });
});

describe("behind a proxy, by default", () => {
  const service = useMcp({ environment: PROXIED });

  it("is disabled, and explains in the 404 how to enable it", async () => {
    const answer = await post(`${service().url}/mcp`, LIST);
    expect(answer.status).toBe(404);
    expect(answer.text).toContain('\\"mcp-server\\": { \\"apps\\"');
    expect((await fetch(`${service().url}/.well-known/oauth-protected-resource`)).status).toBe(404);
  });
});

describe("behind a proxy, for an App that requires a key", () => {
  const service = useMcp({ environment: PROXIED, settings: { apps: ["shop"] } });
  const endpoint = () => `${service().url}/mcp?app=shop`;

  it("rejects a request without a key, or with an invalid Bearer, with 401", async () => {
    for (const [bearer, code] of [
      [null, "app_key_invalid"],
      ["sk-123", "app_key_invalid"],
      ["clq_unknown_key", "app_key_invalid"],
    ]) {
      const headers: Record<string, string> = bearer === null ? {} : { Authorization: `Bearer ${bearer}` };
      const answer = await post(endpoint(), LIST, headers);
      expect([answer.status, codeOf(answer)]).toEqual([401, code]);
      expect(answer.headers.get("www-authenticate")).not.toContain("resource_metadata");
    }
    const unknown = await post(`${service().url}/mcp?app=nothing`, LIST);
    expect([unknown.status, codeOf(unknown)]).toEqual([401, "app_key_invalid"]);
  });

  it("accepts the key as Bearer, but only for its App and the App's conversations", async () => {
    const client = await service().connect(MODERN, await service().createKey("shop"), "/mcp?app=shop");
    const starting = client.callTool({ name: "start_conversation", arguments: { message: "a secret" } });
    (await service().model.next()).say("Hi").finish();
    const { session_id } = (await starting).structuredContent as { session_id: string };
    const ofClub = await service().createKey("club");
    const forbidden = await post(endpoint(), LIST, { Authorization: `Bearer ${ofClub}` });
    expect([forbidden.status, codeOf(forbidden)]).toEqual([403, "app_forbidden"]);
    // The default App is not served.
    const ofDefault = await post(`${service().url}/mcp`, LIST);
    expect([ofDefault.status, codeOf(ofDefault)]).toEqual([404, "app_not_served"]);
    const uri = `colloquy://sessions/${session_id}`;
    expect((await client.readResource({ uri })).contents).not.toEqual([]);
  });

  it("shows and changes no conversation of another App, even with a key that opens both", async () => {
    const key = await service().createKey("shop", "club");
    const session = crypto.randomUUID();
    const headers = { "X-Session-Id": session, "SERVICE-APP-KEY": key };
    const query = new URLSearchParams({ app: "club", message: "a secret", public_key: "0xa" });
    expect(
      (await fetch(`${service().url}/api/chat?${query.toString()}`, { method: "POST", headers })).status,
    ).toBe(200);
    (await service().model.next()).say("Hi").finish();
    const client = await service().connect(MODERN, key, "/mcp?app=shop");
    for (const [name, more] of [
      ["send_message", { message: "hello" }],
      ["get_conversation", {}],
      ["interrupt", {}],
    ] as const)
      expect(await client.callTool({ name, arguments: { session_id: session, ...more } })).toMatchObject({
        isError: true,
        _meta: { "colloquy/error": { code: "session_not_found" } },
      });
    await expect(client.readResource({ uri: `colloquy://sessions/${session}` })).rejects.toThrow();
    const list = { name: "list_conversations", arguments: { public_key: "0xa" } };
    expect((await client.callTool(list)).structuredContent).toEqual({ conversations: [] });
  });
});

describe("an App with users", () => {
  let issuer: Issuer;
  let service: McpService;
  beforeAll(async () => {
    issuer = await Issuer.start();
    const users = {
      issuer: issuer.url,
      audience: "shop",
      jwksUri: null,
      keys: null,
      required: true,
      claimSessions: false,
    };
    const settings = { apps: ["default", "shop"] };
    service = await startMcp({ environment: PROXIED, settings, users });
  });
  afterAll(async () => {
    await service.close();
    await issuer.stop();
  });

  it("returns metadata with the issuer, and its URL in the 401", async () => {
    const headers = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "chat.example.com" };
    const refused = await post(`${service.url}/mcp?app=shop`, LIST, headers);
    expect(refused.status).toBe(401);
    const metadata = "/.well-known/oauth-protected-resource/mcp?app=shop";
    expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer realm="colloquy"/);
    expect(refused.headers.get("www-authenticate")).toContain(
      `resource_metadata="https://chat.example.com${metadata}"`,
    );
    const expired = await post(`${service.url}/mcp?app=shop`, LIST, {
      ...headers,
      Authorization: "Bearer e30.e30.e30",
    });
    expect(expired.headers.get("www-authenticate")).toMatch(
      /error="invalid_token".*, resource_metadata="https:/,
    );
    for (const path of [metadata, "/.well-known/oauth-protected-resource?app=shop"]) {
      const answer = await fetch(service.url + path, { headers });
      expect(await answer.json()).toEqual({
        resource: "https://chat.example.com/mcp?app=shop",
        authorization_servers: [issuer.url],
        bearer_methods_supported: ["header"],
      });
    }
    for (const app of ["default", "club", "nothing"]) {
      const answer = await fetch(`${service.url}/.well-known/oauth-protected-resource/mcp?app=${app}`);
      expect([answer.status, codeOf({ text: await answer.text() })]).toEqual([404, "metadata_not_found"]);
    }
  });

  it("lists only the user's own conversations, in pages, as a tool and as resources", async () => {
    const alice = await service.connect(MODERN, await issuer.token("alice", "shop"), "/mcp?app=shop");
    const ids: string[] = [];
    for (const message of ["one", "two"]) {
      const starting = alice.callTool({ name: "start_conversation", arguments: { message } });
      (await service.model.next()).say("Hi").finish();
      ids.unshift(((await starting).structuredContent as { session_id: string }).session_id);
    }
    const list = async (cursor?: string) =>
      (
        await alice.callTool({
          name: "list_conversations",
          arguments: { limit: 1, ...(cursor !== undefined && { cursor }) },
        })
      ).structuredContent as { conversations: { session_id: string }[]; next_cursor?: string };
    const first = await list();
    const second = await list(first.next_cursor);
    expect([...first.conversations, ...second.conversations].map(({ session_id }) => session_id)).toEqual(
      ids,
    );
    expect(second.next_cursor).toBeUndefined();
    const { resources } = await alice.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(ids.map((id) => `colloquy://sessions/${id}`));
    const bob = await service.connect(MODERN, await issuer.token("bob", "shop"), "/mcp?app=shop");
    expect((await bob.listResources()).resources).toEqual([]);
    const foreign = await bob.callTool({ name: "get_conversation", arguments: { session_id: ids[0]! } });
    expect(foreign).toMatchObject({
      isError: true,
      _meta: { "colloquy/error": { code: "session_not_found" } },
    });
  });
});

describe("with only another App than the default one", () => {
  const service = useMcp({ settings: { apps: ["shop"] } });

  it("shows no conversation of the default App", async () => {
    const native = createClient({ baseUrl: service().url });
    const [said, empty] = [randomUUID(), randomUUID()];
    await native.sendMessage(said, "a secret");
    await native.createSession(empty);
    const client = await service().connect(MODERN, await service().createKey("shop"), "/mcp?app=shop");
    const read = (session_id: string) =>
      client.callTool({ name: "get_conversation", arguments: { session_id } });
    const refused = await read(said);
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused)).not.toContain("a secret");
    expect((await read(empty)).isError).not.toBe(true);
  });
});
