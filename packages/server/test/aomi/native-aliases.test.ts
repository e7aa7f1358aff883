// Sends the requests of `@aomi-labs/client` before the agent API, as its sources and unit tests record them: of 0.1.31
// (github.com/aomi-labs/aomi-widget at 9f804c0, packages/client/src/client.ts), of its successor with `/api/session`, and
// of the one with `/api/thread`.

import { randomUUID } from "node:crypto";
import type { Snapshot } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ProtocolService, startProtocolService } from "../protocol-service.ts";

interface ClientVersion {
  readonly name: string;
  readonly keyHeader: string;
  /** Sent beside `X-Session-Id`. */
  readonly headers: (session: string) => Readonly<Record<string, string>>;
  /** Paths of chat, state, interrupt and updates. */
  readonly conversation: string;
  /** Paths of models, model and apps. */
  readonly control: string;
  readonly threads: string;
}

const VERSIONS: readonly ClientVersion[] = [
  {
    name: "0.1.31",
    keyHeader: "X-API-Key",
    headers: () => ({}),
    conversation: "/api",
    control: "/api/control",
    threads: "/api/sessions",
  },
  {
    name: "with /api/session",
    keyHeader: "AOMI-APP-KEY",
    headers: () => ({}),
    conversation: "/api",
    control: "/api/session",
    threads: "/api/sessions",
  },
  {
    name: "with /api/thread",
    keyHeader: "Aomi-App-Key",
    headers: (session) => ({ "X-Thread-Id": session }),
    conversation: "/api/thread",
    control: "/api/thread",
    threads: "/api/threads",
  },
];
const SLOTS = [{ name: "ALCHEMY_KEY", description: "Key of a provider", required: true }];

let service: ProtocolService;
let key: string;
beforeAll(async () => {
  service = await startProtocolService({
    environment: { COLLOQUY_SECRET_KEY: "0f1e".repeat(16) },
    adjust: (config) => {
      const { shop, ...apps } = config.apps;
      const rules = { ...shop!, secrets: SLOTS, models: ["demo/assistant"] };
      return { ...config, apps: { ...apps, shop: rules } };
    },
  });
  key = await service.createKey("shop");
});
afterAll(() => service.close());

describe.each(VERSIONS)("the client $name", (version) => {
  const newSession = () => {
    const session = randomUUID();
    const headers = { "X-Session-Id": session, ...version.headers(session) };
    const request = async <Answer = unknown>(
      method: string,
      path: string,
      { body, more = {} }: { readonly body?: object; readonly more?: Readonly<Record<string, string>> } = {},
    ): Promise<Answer> => {
      const response = await fetch(service.url + path, {
        method,
        headers: { ...headers, ...more, ...(body && { "Content-Type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
      return (await response.json()) as Answer;
    };
    return { session, headers, request };
  };
  const withKey = () => ({ more: { [version.keyHeader]: key } });
  const chat = (message: string, more: object = {}) =>
    `${version.conversation}/chat?${new URLSearchParams({ message, ...more }).toString()}`;

  it("sends messages, reads the state and interrupts", async () => {
    const { request } = newSession();
    const state = JSON.stringify({ evm: { address: "0xabc", chain_id: 1 } });
    const sent = await request(
      "POST",
      chat("hello", { app: "shop", user_state: state, client_id: "tab-1" }),
      withKey(),
    );
    expect(sent).toMatchObject({ is_processing: true, user_state: { evm: { address: "0xabc" } } });
    const read = () => request<Snapshot>("GET", `${version.conversation}/state?client_id=tab-1`);
    await expect.poll(async () => (await read()).is_processing).toBe(false);
    const { messages, title } = await read();
    expect(messages).toMatchObject([{ sender: "user", content: "hello" }, { sender: "agent" }]);
    expect(title).toEqual(expect.any(String));
    expect(await request("POST", `${version.conversation}/interrupt`)).toMatchObject({
      is_processing: false,
    });
  });

  it("is refused without the key, and with another one", async () => {
    const { request } = newSession();
    await expect(request("POST", chat("hello", { app: "shop" }))).rejects.toThrow("HTTP 401");
    const unknown = `clq_${"a".repeat(8)}_${"b".repeat(32)}`;
    const wrong = { more: { [version.keyHeader]: unknown } };
    await expect(request("POST", chat("hello", { app: "shop" }), wrong)).rejects.toThrow("HTTP 401");
    await expect(request("POST", chat("hello", { app: "club" }), withKey())).rejects.toThrow("HTTP 403");
  });

  it("may send another value in the header of the key, as for a gateway", async () => {
    const { request } = newSession();
    const more = { [version.keyHeader]: "the-key-of-a-gateway" };
    expect(await request("GET", `${version.control}/apps`, { more })).toMatchObject([{ name: "default" }]);
    // As a proxy joins two headers.
    const joined = { more: { [version.keyHeader]: `${key}, ${key}` } };
    expect(await request("GET", `${version.control}/apps`, joined)).toMatchObject([{ name: "default" }]);
    // The specified header takes precedence.
    const both = { more: { ...more, "SERVICE-APP-KEY": key } };
    await request("POST", chat("hello", { app: "shop" }), both);
  });

  it("receives events", async () => {
    const { session, headers, request } = newSession();
    await request("POST", version.threads, { body: {} });
    const abort = new AbortController();
    const response = await fetch(`${service.url}${version.conversation}/updates`, {
      headers: { ...headers, Accept: "text/event-stream" },
      signal: abort.signal,
    });
    await request("PATCH", `${version.threads}/${session}`, { body: { title: "Tea" } });
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("title_changed")) break;
    }
    abort.abort();
    const data = /data: (.*title_changed.*)\n/.exec(text)?.[1] ?? "";
    expect(JSON.parse(data)).toMatchObject({ type: "title_changed", session_id: session, new_title: "Tea" });
  });

  it("creates, lists, archives and deletes threads", async () => {
    const { session, request } = newSession();
    const wallet = `0x${randomUUID().replaceAll("-", "")}`;
    const path = `${version.threads}/${session}`;
    expect(await request("POST", version.threads, { body: { public_key: wallet } })).toMatchObject({
      session_id: session,
    });
    const list = (more: object = {}) =>
      request<object[]>(
        "GET",
        `${version.threads}?${new URLSearchParams({ public_key: wallet, ...more }).toString()}`,
      );
    expect(await list()).toEqual([await request("GET", path)]);
    expect((await list())[0]).not.toHaveProperty("is_archived");
    expect(await request("POST", `${path}/archive`)).toMatchObject({ is_archived: true });
    expect(await list()).toMatchObject([{ session_id: session, is_archived: true }]);
    expect(await list({ archived: "false" })).toEqual([]);
    expect(await list({ archived: "true", limit: "1" })).toHaveLength(1);
    await request("POST", `${path}/unarchive`);
    expect(await list({ archived: "false" })).toHaveLength(1);
    await request("DELETE", path);
    expect(await list()).toEqual([]);
  });

  it("lists models and Apps, and sets the model", async () => {
    const { request } = newSession();
    expect(await request("GET", `${version.control}/models`)).toEqual(["test/scripted", "demo/assistant"]);
    const apps = await request("GET", `${version.control}/apps`, withKey());
    expect(apps).toMatchObject([{ name: "default" }, { name: "shop", secrets: SLOTS }]);
    const model = `${version.control}/model?rig=demo%2Fassistant&client_id=tab-1`;
    expect(await request("POST", model)).toMatchObject({ success: true, rig: "demo/assistant" });
  });

  it("sets, replaces and removes secrets", async () => {
    const { request } = newSession();
    const client = randomUUID();
    const set = (value: string) =>
      request("POST", "/api/secrets", {
        ...withKey(),
        body: { client_id: client, app: "shop", secrets: { ALCHEMY_KEY: value } },
      });
    expect(await set("hunter22")).toEqual({ handles: { ALCHEMY_KEY: "$SECRET:ALCHEMY_KEY" } });
    await set("hunter33");
    const query = `client_id=${client}&app=shop`;
    const names = () => request("GET", `/api/secrets?${query}`, withKey());
    expect(await names()).toEqual(["ALCHEMY_KEY"]);
    const one = `/api/secrets/ALCHEMY_KEY?${query}`;
    expect(await request("DELETE", one, withKey())).toEqual({ deleted: true });
    expect(await request("DELETE", one, withKey())).toEqual({ deleted: false });
    await set("hunter44");
    await expect(request("DELETE", `/api/secrets/?${query}`, withKey())).rejects.toThrow("HTTP 400");
    expect(await names()).toEqual(["ALCHEMY_KEY"]);
    expect(await request("DELETE", `/api/secrets?${query}`, withKey())).toMatchObject({ cleared: true });
    expect(await names()).toEqual([]);
    await expect(
      request("POST", "/api/secrets", { ...withKey(), body: { app: "shop", secrets: {} } }),
    ).rejects.toThrow("HTTP 400");
    for (const [method, path, wrap] of [
      ["PUT", `/api/secrets?${query}`, (values: unknown) => values],
      ["POST", "/api/secrets", (secrets: unknown) => ({ client_id: client, app: "shop", secrets })],
    ] as const) {
      const body = wrap(JSON.parse('{"__proto__":"x"}')) as object;
      await expect(request(method, path, { ...withKey(), body })).rejects.toThrow("HTTP 400");
    }
  });

  it("may be a page of an allowed origin", async () => {
    const response = await fetch(`${service.url}${version.conversation}/chat`, {
      method: "OPTIONS",
      headers: {
        Origin: "http://localhost:3000",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": `${version.keyHeader}, x-session-id, x-thread-id`,
      },
    });
    expect(response.status).toBe(204);
    const allowed = response.headers.get("access-control-allow-headers")?.toLowerCase().split(", ");
    expect(allowed).toEqual(
      expect.arrayContaining([version.keyHeader.toLowerCase(), "x-session-id", "x-thread-id"]),
    );
  });
});

it.each(["/api/threads-of-others", "/api/thread/other", "/api/session/chat", "/api/thread"])(
  "%s is no alias",
  async (path) => {
    expect((await fetch(service.url + path)).status).toBe(404);
  },
);
