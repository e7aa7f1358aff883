// The operations of the specification, each with a valid request.

import { type Answer, type Call, send } from "./client.ts";

export interface Operation {
  readonly name: string;
  readonly method: string;
  /** Path and query, for an existing session if the path names one. */
  readonly path: (session: string) => string;
  readonly call: Call;
  /** Whether `X-Session-Id` is required. */
  readonly needsSession: boolean;
  /** Whether the path names the session. */
  readonly byPath: boolean;
  /** Whether it takes a body. */
  readonly takesBody: boolean;
  /** Status of the answer for a new session. */
  readonly status: number;
}

const byHeader = { needsSession: true, byPath: false, takesBody: false, status: 200, call: {} };
const byPath = { needsSession: false, byPath: true, takesBody: false, status: 200, call: {} };

export const OPERATIONS: readonly Operation[] = [
  { ...byHeader, name: "create session", method: "POST", path: () => "/api/sessions", takesBody: true },
  { ...byPath, name: "get session", method: "GET", path: (id) => `/api/sessions/${id}` },
  { ...byHeader, name: "list threads", method: "GET", path: () => "/api/sessions?public_key=0xnobody" },
  {
    ...byPath,
    name: "rename thread",
    method: "PATCH",
    path: (id) => `/api/sessions/${id}`,
    call: { json: { title: "Renamed" } },
    takesBody: true,
  },
  { ...byPath, name: "pin thread", method: "PUT", path: (id) => `/api/sessions/${id}/pin` },
  { ...byPath, name: "unpin thread", method: "DELETE", path: (id) => `/api/sessions/${id}/pin` },
  { ...byPath, name: "list messages", method: "GET", path: (id) => `/api/sessions/${id}/messages` },
  {
    ...byHeader,
    name: "send message",
    method: "POST",
    path: () => "/api/chat?message=hello",
    takesBody: true,
  },
  { ...byHeader, name: "get state", method: "GET", path: () => "/api/state" },
  { ...byHeader, name: "interrupt", method: "POST", path: () => "/api/interrupt" },
  { ...byHeader, name: "list actions", method: "GET", path: () => "/api/actions" },
  {
    ...byHeader,
    name: "decide action",
    method: "POST",
    path: () => "/api/actions/019a9c1e-6c11-7a02-b3a1-5d0c7f2e9b10",
    call: { json: { decision: "deny" } },
    takesBody: true,
    status: 404,
  },
  {
    ...byHeader,
    name: "claim action",
    method: "POST",
    path: () => "/api/actions/019a9c1e-6c11-7a02-b3a1-5d0c7f2e9b10/claim",
    takesBody: true,
    status: 404,
  },
  {
    ...byHeader,
    name: "subscribe",
    method: "GET",
    path: () => "/api/updates",
    call: { headers: { Accept: "text/event-stream" } },
  },
  {
    ...byHeader,
    name: "set model",
    method: "POST",
    path: () => "/api/control/model?rig=demo/assistant",
  },
  { ...byPath, name: "list models", method: "GET", path: () => "/api/control/models", byPath: false },
  { ...byHeader, name: "list Apps", method: "GET", path: () => "/api/control/apps" },
  { ...byPath, name: "list secrets", method: "GET", path: () => "/api/secrets?client_id=me", byPath: false },
  {
    ...byPath,
    name: "set secrets",
    method: "PUT",
    path: () => "/api/secrets?client_id=me",
    // For an App that declares none.
    call: { json: { NAME: "a value" } },
    byPath: false,
    takesBody: true,
    status: 400,
  },
  {
    ...byPath,
    name: "remove secrets",
    method: "DELETE",
    path: () => "/api/secrets?client_id=me",
    byPath: false,
  },
  {
    ...byPath,
    name: "delete thread",
    method: "DELETE",
    path: (id) => `/api/sessions/${id}`,
  },
];

/**
 * Sends an operation's request with changes. Includes the session header if required, unless `call` says
 * otherwise.
 */
export function perform(
  url: string,
  operation: Operation,
  session: string,
  call: Call = {},
): Promise<Answer> {
  return send(url, operation.method, operation.path(session), {
    ...operation.call,
    ...(operation.needsSession && { session }),
    ...call,
    headers: { ...operation.call.headers, ...call.headers },
  });
}
