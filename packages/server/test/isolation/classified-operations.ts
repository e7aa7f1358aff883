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
  /** True if the response is an event stream. */
  readonly streams?: true;
  /** Status for callers with access, if it is not 200. */
  readonly allowed?: number;
  /** True if a `user` operation concerns a session, so that a key of another App is refused. */
  readonly isOnSession?: true;
  /** True if the operation deletes the session. */
  readonly removes?: true;
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
  "POST /api/auth/revoke": { class: "user", path: () => "/api/auth/revoke" },
  "GET /api/users/me/export": { class: "user", path: ({ app }) => `/api/users/me/export?app=${app}` },
  "DELETE /api/users/me": { class: "user", path: ({ app }) => `/api/users/me?app=${app}` },
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
  "GET /api/admin/users/export": admin(() => "users/export?public_key=0xnobody"),
  "DELETE /api/admin/users": admin(() => "users?public_key=0xnobody"),
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
