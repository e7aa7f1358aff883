// Every operation of the service with its access rule. The isolation test fails for an operation that is
// missing here.

import { randomUUID } from "node:crypto";
import type { Call } from "../black-box/client.ts";
import type { Conversation } from "./conversation.ts";
import type { AppName, Caller } from "./isolation-service.ts";

/**
 * The access rule.
 * `app`: requires a key of the App that the request names or the session belongs to.
 * `session`: requires a key of the session's App only with `requireKey: "all"`; refuses the key of another App.
 * `key`: returns what belongs to the Apps of the key.
 * `user`: requires the token of a signed-in user.
 * `public`: does not depend on Apps.
 * `admin`: requires an operator's key; refuses the key of an App.
 */
export type OperationClass = "app" | "session" | "key" | "user" | "public" | "admin";

/** The target of a request. */
export interface Target {
  readonly app: string;
  readonly rig: string;
  readonly slot: string;
  readonly wallet: string;
  readonly conversation: Conversation;
}

export interface ClassifiedOperation {
  readonly class: OperationClass;
  /** Returns path and query of the request. */
  readonly path: (target: Target) => string;
  readonly call?: Call;
  readonly body?: (target: Target) => unknown;
  readonly headers?: (target: Target) => NonNullable<Call["headers"]>;
  /** True if the response is an event stream; a text after which it need not be read further. */
  readonly streams?: true | string;
  /** True if a turn goes on after the response. */
  readonly begins?: true;
  /** Status for callers with access, if it is not 200. */
  readonly allowed?: number;
  /** True if a `user` operation concerns a session, so that a key of another App is refused. */
  readonly isOnSession?: true;
  /** True if a refusal of the session is the error of a tool in a response with 200. */
  readonly refusesInBody?: true;
  /** True if the operation deletes the session. */
  readonly removes?: true;
  /** True to send the request without `X-Session-Id`. */
  readonly hasNoSession?: true;
}

/** A Sign-In with Ethereum message for another domain. */
const MESSAGE_OF_ELSEWHERE = `elsewhere.test wants you to sign in with your Ethereum account:
0x8ba1f109551bD432803012645Ac136ddd64DBA72


URI: https://elsewhere.test
Version: 1
Chain ID: 1
Nonce: a0nonce0of0the0test
Issued At: 2026-11-20T12:00:00.000Z`;

/** Keyed by method and path, as in the OpenAPI document. */
export const OPERATIONS: Readonly<Record<string, ClassifiedOperation>> = {
  "POST /api/sessions": { class: "session", path: () => "/api/sessions" },
  "GET /api/sessions": { class: "key", path: ({ wallet }) => `/api/sessions?public_key=${wallet}` },
  "GET /api/sessions/{id}": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}`,
  },
  "PATCH /api/sessions/{id}": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}`,
    body: ({ conversation: { title } }) => ({ title }),
  },
  "DELETE /api/sessions/{id}": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}`,
    removes: true,
  },
  "PUT /api/sessions/{id}/pin": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}/pin`,
  },
  "DELETE /api/sessions/{id}/pin": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}/pin`,
  },
  "POST /api/sessions/{id}/archive": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}/archive`,
  },
  "POST /api/sessions/{id}/unarchive": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}/unarchive`,
  },
  "PUT /api/sessions/{id}/messages/{message_id}/feedback": {
    class: "session",
    path: ({ conversation: { session, answer } }) => `/api/sessions/${session}/messages/${answer}/feedback`,
    body: () => ({ score: 1 }),
  },
  "POST /api/sessions/{id}/fork": {
    class: "app",
    path: ({ conversation: { session } }) => `/api/sessions/${session}/fork`,
    body: () => ({ session_id: randomUUID() }),
  },
  "POST /api/sessions/{id}/claim": {
    class: "user",
    isOnSession: true,
    path: ({ conversation: { session } }) => `/api/sessions/${session}/claim`,
  },
  "GET /api/sessions/{id}/messages": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/sessions/${session}/messages`,
  },
  "GET /api/search": { class: "session", path: () => "/api/search?q=transfer" },
  "POST /api/files": {
    class: "app",
    path: ({ app }) => `/api/files?app=${app}`,
    call: { body: "tea", headers: { "Content-Type": "text/plain" } },
  },
  "GET /api/files/{id}": {
    class: "session",
    path: ({ conversation: { file } }) => `/api/files/${file}`,
  },
  "POST /api/chat": {
    class: "app",
    path: ({ app }) => `/api/chat?message=hello&app=${app}`,
    call: { headers: { Prefer: "wait=20" } },
  },
  "POST /api/ai-sdk/chat": {
    class: "app",
    path: () => "/api/ai-sdk/chat",
    body: ({ app, conversation: { session } }) => ({
      id: session,
      messages: [{ id: randomUUID(), role: "user", parts: [{ type: "text", text: "hello" }] }],
      trigger: "submit-message",
      app,
    }),
  },
  "GET /api/ai-sdk/chat/{id}/stream": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/ai-sdk/chat/${session}/stream`,
    allowed: 204,
  },
  "GET /api/ai-sdk/chat/{id}/messages": {
    class: "session",
    path: ({ conversation: { session } }) => `/api/ai-sdk/chat/${session}/messages`,
  },
  "POST /api/ag-ui": {
    class: "app",
    path: ({ app }) => `/api/ag-ui?app=${app}`,
    body: ({ conversation: { session } }) => ({
      threadId: session,
      runId: "run",
      messages: [{ id: randomUUID(), role: "user", content: "hello" }],
    }),
  },
  "POST /v1/agent/chat": {
    class: "app",
    path: () => "/v1/agent/chat",
    body: ({ app, conversation: { session } }) => ({ sessionId: session, app, message: "hello" }),
    begins: true,
  },
  "GET /v1/agent/chat/{id}": { class: "session", path: agentPath },
  "GET /v1/agent/chat/{id}/stream": {
    class: "session",
    path: (target) => `${agentPath(target)}/stream`,
    streams: '"has_more":false',
  },
  "POST /v1/agent/chat/{id}/interrupt": {
    class: "session",
    path: (target) => `${agentPath(target)}/interrupt`,
    body: () => ({ turnId: "turn-1" }),
    allowed: 404,
  },
  // The conversation's action is no wallet request.
  "POST /v1/agent/chat/{id}/actions/{action}/result": {
    class: "app",
    path: (target) => `${agentPath(target)}/actions/${target.conversation.action}/result`,
    body: () => ({ revision: 1, result: { status: "rejected", reason: "No" } }),
    allowed: 404,
  },
  "GET /v1/agent/sessions": { class: "key", path: () => "/v1/agent/sessions" },
  "GET /v1/agent/sessions/{id}": { class: "session", path: agentSessionPath },
  "PATCH /v1/agent/sessions/{id}": {
    class: "session",
    path: agentSessionPath,
    body: ({ conversation: { title } }) => ({ title }),
  },
  "DELETE /v1/agent/sessions/{id}": {
    class: "session",
    path: agentSessionPath,
    removes: true,
    allowed: 204,
  },
  "GET /v1/models": { class: "key", path: () => "/v1/models" },
  "GET /v1/models/{model}": { class: "key", path: () => "/v1/models/default" },
  "POST /v1/chat/completions": {
    class: "app",
    path: () => "/v1/chat/completions",
    body: ({ app, conversation: { session } }) => ({
      model: app,
      messages: [{ role: "user", content: "hello" }],
      metadata: { conversation_id: `conv_${session}` },
    }),
  },
  "POST /v1/responses": {
    class: "app",
    path: () => "/v1/responses",
    body: ({ app, conversation: { session } }) => ({
      model: app,
      conversation: `conv_${session}`,
      input: "hello",
    }),
  },
  "GET /v1/files/{id}": { class: "session", path: filePath },
  "GET /v1/files/{id}/content": { class: "session", path: (target) => `${filePath(target)}/content` },
  "GET /v1/responses/{id}": { class: "session", path: responsePath },
  "GET /v1/responses/{id}/input_items": {
    class: "session",
    path: (target) => `${responsePath(target)}/input_items`,
  },
  "POST /v1/responses/{id}/cancel": { class: "session", path: (target) => `${responsePath(target)}/cancel` },
  "DELETE /v1/responses/{id}": { class: "session", path: responsePath, removes: true },
  "POST /v1/conversations": {
    class: "session",
    path: () => "/v1/conversations",
    body: () => ({}),
    headers: ({ conversation: { session } }) => ({ "X-Conversation-Id": `conv_${session}` }),
  },
  "GET /v1/conversations/{id}": { class: "session", path: conversationPath },
  "POST /v1/conversations/{id}": { class: "session", path: conversationPath, body: () => ({ metadata: {} }) },
  "DELETE /v1/conversations/{id}": { class: "session", path: conversationPath, removes: true },
  "GET /v1/conversations/{id}/items": {
    class: "session",
    path: (target) => `${conversationPath(target)}/items?limit=100`,
  },
  "POST /v1/conversations/{id}/items": {
    class: "session",
    path: (target) => `${conversationPath(target)}/items`,
    body: () => ({ items: [{ role: "user", content: "hello" }] }),
  },
  "GET /v1/conversations/{id}/items/{item}": {
    class: "session",
    path: (target) => `${conversationPath(target)}/items/none`,
    allowed: 404,
  },
  "DELETE /v1/conversations/{id}/items/{item}": {
    class: "session",
    path: (target) => `${conversationPath(target)}/items/none`,
    allowed: 400,
  },
  "POST /mcp": {
    class: "app",
    refusesInBody: true,
    path: ({ app }) => `/mcp?app=${app}`,
    body: ({ conversation: { session } }) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "get_conversation", arguments: { session_id: session } },
    }),
  },
  // Of the default App, which has no users.
  "GET /.well-known/oauth-protected-resource": {
    class: "public",
    path: () => "/.well-known/oauth-protected-resource",
    allowed: 404,
  },
  "GET /.well-known/oauth-protected-resource/mcp": {
    class: "public",
    path: () => "/.well-known/oauth-protected-resource/mcp",
    allowed: 404,
  },
  "POST /api/auth/revoke": { class: "user", path: () => "/api/auth/revoke" },
  "GET /api/users/me/export": { class: "user", path: ({ app }) => `/api/users/me/export?app=${app}` },
  "DELETE /api/users/me": { class: "user", path: ({ app }) => `/api/users/me?app=${app}` },
  "GET /api/page": { class: "public", path: ({ app }) => `/api/page?app=${app}` },
  "POST /api/auth/siwe/nonce": { class: "public", path: () => "/api/auth/siwe/nonce" },
  "POST /api/auth/siwe/verify": {
    class: "user",
    path: () => "/api/auth/siwe/verify",
    body: () => ({ message: MESSAGE_OF_ELSEWHERE, signature: "0x00" }),
  },
  "POST /api/auth/siwe/refresh": { class: "user", path: () => "/api/auth/siwe/refresh" },
  "GET /api/state": { class: "session", path: () => "/api/state" },
  "POST /api/interrupt": { class: "session", path: () => "/api/interrupt" },
  "GET /api/updates": {
    class: "session",
    path: () => "/api/updates?include=tools,messages,state&last_event_id=0",
    call: { headers: { Accept: "text/event-stream" } },
    streams: true,
  },
  "POST /api/control/model": {
    class: "app",
    path: ({ rig, app }) => `/api/control/model?rig=${rig}&app=${app}`,
  },
  "GET /api/control/models": { class: "session", path: () => "/api/control/models" },
  "GET /api/control/apps": { class: "key", path: () => "/api/control/apps" },
  "GET /api/actions": { class: "session", path: () => "/api/actions" },
  "POST /api/actions/{id}": {
    class: "app",
    path: ({ conversation: { action } }) => `/api/actions/${action}`,
    body: () => ({ decision: "approve" }),
  },
  // The conversation's action is for a person, not for a client to run.
  "POST /api/actions/{id}/claim": {
    class: "app",
    path: ({ conversation: { action } }) => `/api/actions/${action}/claim`,
    allowed: 400,
  },
  "PUT /api/secrets": {
    class: "app",
    path: secretsPath,
    body: ({ slot }) => ({ [slot]: "another value" }),
  },
  "POST /api/secrets": {
    class: "app",
    path: () => "/api/secrets",
    body: ({ app, slot, conversation: { clientId } }) => ({
      app,
      client_id: clientId,
      secrets: { [slot]: "another value" },
    }),
  },
  "DELETE /api/secrets/{name}": {
    class: "app",
    path: ({ app, conversation: { clientId } }) => `/api/secrets/NONE?app=${app}&client_id=${clientId}`,
  },
  "GET /api/secrets": { class: "app", path: secretsPath },
  "DELETE /api/secrets": { class: "app", path: secretsPath },
  "GET /healthz": { class: "public", path: () => "/healthz" },
  "GET /readyz": { class: "public", path: () => "/readyz" },
  "GET /metrics": { class: "public", path: () => "/metrics" },
  "GET /api/admin/overview": admin(() => "overview"),
  "GET /api/admin/sessions": admin(
    ({ conversation: { title } }) => `sessions?search=${encodeURIComponent(title)}`,
  ),
  "GET /api/admin/sessions/{id}": admin(sessionPath),
  "GET /api/admin/sessions/{id}/messages": admin((target) => `${sessionPath(target)}/messages`),
  "POST /api/admin/sessions/{id}/interrupt": admin((target) => `${sessionPath(target)}/interrupt`),
  "POST /api/admin/sessions/{id}/actions/{action}": {
    ...admin((target) => `${sessionPath(target)}/actions/${target.conversation.action}`),
    body: () => ({ decision: "approve" }),
  },
  "DELETE /api/admin/sessions/{id}": admin(sessionPath),
  "PUT /api/admin/sessions/{id}/owner": {
    ...admin((target) => `${sessionPath(target)}/owner`),
    body: () => ({ user: null }),
  },
  "GET /api/admin/apps": admin(() => "apps"),
  "GET /api/admin/keys": admin(({ app }) => `keys?app=${app}`),
  "POST /api/admin/keys": { ...admin(() => "keys"), body: ({ app }) => ({ apps: [app] }) },
  "DELETE /api/admin/keys/{id}": admin(() => "keys/nobody"),
  "POST /api/admin/keys/{id}/rotate": admin(() => "keys/nobody/rotate"),
  "GET /api/admin/usage": admin(() => "usage"),
  "GET /api/admin/latency": admin(() => "latency"),
  "GET /api/admin/audit": admin(() => "audit"),
  "GET /api/admin/feedback": admin(() => "feedback"),
  "GET /api/admin/users/export": admin(() => "users/export?public_key=0xnobody"),
  "DELETE /api/admin/users": admin(() => "users?public_key=0xnobody"),
};

/** Operations of the plugin in echo-protocol.ts. */
export const PLUGIN_OPERATIONS: Readonly<Record<string, ClassifiedOperation>> = {
  "POST /echo/chat": {
    class: "app",
    path: () => "/echo/chat",
    body: ({ app }) => ({ app, text: "hello" }),
  },
  "GET /echo/{id}": { class: "session", path: ({ conversation: { session } }) => `/echo/${session}` },
};

/** Routes that serve the OpenAPI document, which does not list them. They are `public`. */
export const DOCUMENT_ROUTES: readonly string[] = ["GET /openapi.json", "GET /docs", "GET /docs/scalar.js"];

/**
 * Routes of console and guide, which the document does not list either. They are `public`, and give 404 if the
 * pages are not built.
 */
export const PAGE_ROUTES: readonly string[] = ["GET /", "GET /assets/{name}", "GET /guide", "GET /guide/*"];

function admin(path: (target: Target) => string): ClassifiedOperation {
  return { class: "admin", path: (target) => `/api/admin/${path(target)}` };
}

function sessionPath({ conversation: { session } }: Target): string {
  return `sessions/${session}`;
}

/** Operations for approvers: the operations on actions, without a session. */
export const APPROVER_OPERATIONS: Readonly<Record<string, ClassifiedOperation>> = Object.fromEntries(
  ["GET /api/actions", "POST /api/actions/{id}"].map((name) => [
    `${name} without X-Session-Id`,
    { ...OPERATIONS[name]!, class: "user", hasNoSession: true },
  ]),
);

function secretsPath({ app, conversation: { clientId } }: Target): string {
  return `/api/secrets?app=${app}&client_id=${clientId}`;
}

const INVALID_KEYS: readonly Caller[] = ["malformed key", "unknown key", "revoked key", "expired key"];

/** Returns the required status of an operation on a session of the App. */
export function expectedStatus(operation: ClassifiedOperation, caller: Caller, app: AppName): number {
  const hasAccess = caller === "own key" || caller === "key of both" || caller === "other person";
  // A key of Apps is known, but lacks the scope.
  if (operation.class === "admin") return hasAccess || caller === "other App's key" ? 403 : 401;
  if (operation.class === "user")
    return operation.isOnSession === true && caller === "other App's key" ? 403 : 401;
  if (operation.class === "public" || hasAccess) return 200;
  if (INVALID_KEYS.includes(caller)) return 401;
  if (caller === "other App's key") return operation.class === "key" ? 200 : 403;
  const needsKey = operation.class === "app" || (operation.class === "session" && app === "closed");
  return needsKey ? 401 : 200;
}

function filePath({ conversation: { session, file } }: Target): string {
  const pack = (uuid: string): string => Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");
  return `/v1/files/file-${pack(session)}${pack(file)}`;
}

function responsePath({ conversation: { session } }: Target): string {
  return `/v1/responses/resp_${session}_1`;
}

function agentPath({ conversation: { session } }: Target): string {
  return `/v1/agent/chat/${session}`;
}

function agentSessionPath({ conversation: { session } }: Target): string {
  return `/v1/agent/sessions/${session}`;
}

function conversationPath({ conversation: { session } }: Target): string {
  return `/v1/conversations/conv_${session}`;
}
