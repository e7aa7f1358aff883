// Sends raw requests as clients in the field do: with missing headers, other methods, and malformed messages.

import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { LIST, post, useMcp } from "./mcp-service.ts";

const service = useMcp();
const endpoint = () => `${service().url}/mcp`;
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const MODERN_HEADERS = { "MCP-Protocol-Version": "2026-07-28" };

/** Returns the JSON-RPC error in a response. */
const errorOf = ({ text }: { readonly text: string }) =>
  (JSON.parse(text) as { error: { code: number; message: string; data: Record<string, unknown> } }).error;

it.each([
  ["no Accept header", { Accept: "" }],
  ["any type", { Accept: "*/*" }],
  ["JSON only", { Accept: "application/json" }],
  ["streams only", { Accept: "text/event-stream" }],
  ["an unknown session id", { "Mcp-Session-Id": "of-another-server" }],
  ["a last event id", { "Last-Event-ID": "7" }],
])("serves a client that sends %s", async (_title, headers) => {
  const answer = await post(endpoint(), LIST, headers);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(answer.headers.get("mcp-session-id")).toBeNull();
  expect(JSON.parse(answer.text)).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
});

it("sends no stream to a client that does not accept one, even if it requests progress", async () => {
  const params = { name: "list_conversations", arguments: {}, _meta: { progressToken: 1 } };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const answer = await post(endpoint(), message, { Accept: "application/json" });
  expect(JSON.parse(answer.text)).toMatchObject({ id: 1, result: { isError: true } });
});

it("answers an unknown revision with a supported one", async () => {
  const params = {
    protocolVersion: "1999-01-01",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  const answer = await post(endpoint(), { jsonrpc: "2.0", id: "a", method: "initialize", params });
  expect(JSON.parse(answer.text)).toMatchObject({ id: "a", result: { protocolVersion: "2025-11-25" } });
});

it("ignores the version in the header of the handshake", async () => {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  for (const version of ["2025-06-18", "2026-07-28", "2099-01-01"]) {
    const message = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const answer = await post(endpoint(), message, { "MCP-Protocol-Version": version });
    expect(JSON.parse(answer.text)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  }
  expect((await post(endpoint(), LIST, { "MCP-Protocol-Version": "1999-01-01" })).status).toBe(400);
});

it("treats null params and arguments as absent", async () => {
  const listed = await post(endpoint(), { ...LIST, params: null });
  expect(JSON.parse(listed.text)).toMatchObject({ result: { tools: expect.any(Array) } });
  const params = { name: "list_conversations", arguments: null };
  const called = await post(endpoint(), { ...LIST, method: "tools/call", params });
  expect(called.text).toContain("user_missing");
});

it("accepts notifications with 202", async () => {
  const answer = await post(endpoint(), { jsonrpc: "2.0", method: "notifications/initialized" });
  expect([answer.status, answer.text]).toEqual([202, ""]);
});

it.each(["GET", "DELETE"])("rejects %s with 405", async (method) => {
  const answer = await fetch(endpoint(), { method, headers: { Accept: "text/event-stream" } });
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toContain("POST");
  expect(await answer.json()).toMatchObject({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32_000, data: { code: "method_not_allowed", request_id: expect.any(String) } },
  });
});

it.each([
  ["a batch", [LIST], 400, -32_600, "request_invalid"],
  ["text that is not JSON", "{", 400, -32_700, "json_invalid"],
  ["an object that is not JSON-RPC", {}, 400, -32_600, "request_invalid"],
  ["an unknown method", { ...LIST, method: "nothing/here" }, 200, -32_601, "method_not_found"],
  [
    "an unknown tool",
    { ...LIST, method: "tools/call", params: { name: "nothing" } },
    200,
    -32_602,
    "params_invalid",
  ],
  [
    "a body of more than 256 KiB",
    { ...LIST, params: { x: "x".repeat(256 * 1024) } },
    413,
    -32_600,
    "body_too_large",
  ],
])(
  "rejects %s with a JSON-RPC error that has the code and the request id",
  async (_title, sent, status, code, name) => {
    const answer = await post(endpoint(), sent);
    expect(answer.status).toBe(status);
    expect(errorOf(answer)).toMatchObject({
      code,
      data: { code: name, request_id: answer.headers.get("x-request-id") },
    });
  },
);

it("rejects a content type other than JSON with 415", async () => {
  const answer = await post(endpoint(), LIST, { "Content-Type": "text/plain" });
  expect([answer.status, errorOf(answer).code]).toEqual([415, -32_600]);
});

describe("in revision 2026-07-28", () => {
  const message = (method: string, params: object = {}) => ({
    jsonrpc: "2.0",
    id: 7,
    method,
    params: { ...params, _meta: ENVELOPE },
  });

  it("rejects an unknown method with 404, and the id of the request", async () => {
    const answer = await post(endpoint(), message("nothing/here"), {
      ...MODERN_HEADERS,
      "Mcp-Method": "nothing/here",
    });
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.text)).toMatchObject({ id: 7, error: { code: -32_601 } });
  });

  it("rejects subscriptions/listen without opening a stream", async () => {
    const method = "subscriptions/listen";
    const answer = await post(endpoint(), message(method, { filter: {} }), {
      ...MODERN_HEADERS,
      "Mcp-Method": method,
    });
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.text)).toMatchObject({
      id: 7,
      error: { code: -32_601, data: { code: "method_not_found" } },
    });
  });

  it("rejects headers that contradict the body, and unknown revisions", async () => {
    const wrong = await post(endpoint(), message("tools/list"), {
      ...MODERN_HEADERS,
      "Mcp-Method": "tools/call",
    });
    expect([wrong.status, errorOf(wrong).code]).toEqual([400, -32_020]);
    const params = { _meta: { ...ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01" } };
    const headers = { "MCP-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list" };
    const unknown = await post(endpoint(), { ...LIST, params }, headers);
    expect(unknown.status).toBe(400);
    expect(errorOf(unknown)).toMatchObject({ code: -32_022, data: { supported: ["2026-07-28"] } });
  });
});

describe("pages of other origins", () => {
  it("get 403, except pages of this machine, which get CORS headers", async () => {
    const foreign = await post(endpoint(), LIST, { Origin: "https://evil.example" });
    expect([foreign.status, errorOf(foreign).data["code"]]).toEqual([403, "origin_not_allowed"]);
    const origin = "http://localhost:6274";
    const own = await post(endpoint(), LIST, { Origin: origin });
    expect(own.status).toBe(200);
    expect(own.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate");
    const preflight = await fetch(endpoint(), {
      method: "OPTIONS",
      headers: { Origin: origin, "Access-Control-Request-Method": "POST" },
    });
    expect(preflight.status).toBe(204);
    const allowed = preflight.headers.get("access-control-allow-headers")?.toLowerCase();
    for (const name of [
      "authorization",
      "content-type",
      "mcp-protocol-version",
      "mcp-method",
      "mcp-name",
      "mcp-session-id",
    ])
      expect(allowed).toContain(name);
  });

  it("cannot use DNS rebinding: an unknown Host gets 403", async () => {
    const asked = get(endpoint(), { headers: { Host: "evil.example" } });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(403);
    answer.resume();
  });
});
