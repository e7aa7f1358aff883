// Requests of the load generator, serialized once or cheaply each time.

import { randomFillSync } from "node:crypto";

/** The requests that a connection repeats. */
export type RequestPlan =
  /** Sends the same bytes each time. */
  | { readonly kind: "fixed"; readonly request: string }
  /** Sends a new message each time, and starts a new session after this many. */
  | {
      readonly kind: "chat";
      readonly messagesPerSession: number;
      readonly prefer: string | null;
      readonly text: string;
      /** Whole header lines, each with its line end; none when absent. */
      readonly headers?: string;
    }
  /** Like `chat`, through this protocol. */
  | {
      readonly kind: "protocol";
      readonly protocol: keyof typeof PROTOCOLS;
      readonly messagesPerSession: number;
      readonly text: string;
    }
  /** Reads the state of a new session each time. */
  | { readonly kind: "random state" };

type Body = (session: string, texts: readonly string[]) => object;

/** Requests by protocol. `texts` are the user's messages so far, of which the last is new. */
const PROTOCOLS = {
  "ai-sdk": ["/api/ai-sdk/chat", aiSdkBody],
  "ag-ui": ["/api/ag-ui", agUiBody],
  responses: ["/v1/responses", (session, texts) => responseBody(session, texts)],
  "streamed responses": ["/v1/responses", (session, texts) => responseBody(session, texts, true)],
  "chat completions": ["/v1/chat/completions", (session, texts) => completionBody(session, texts)],
  "streamed chat completions": [
    "/v1/chat/completions",
    (session, texts) => completionBody(session, texts, true),
  ],
  mcp: ["/mcp", mcpBody],
} as const satisfies Record<string, readonly [path: string, body: Body]>;

function aiSdkBody(id: string, texts: readonly string[]): object {
  const messages = texts.map((text) => ({
    id: randomSessionId(),
    role: "user",
    parts: [{ type: "text", text }],
  }));
  return { id, messages, trigger: "submit-message" };
}

function agUiBody(threadId: string, texts: readonly string[]): object {
  const messages = texts.map((content) => ({ id: randomSessionId(), role: "user", content }));
  return { threadId, runId: randomSessionId(), messages };
}

function responseBody(session: string, texts: readonly string[], stream = false): object {
  return { model: "default", conversation: `conv_${session}`, input: texts.at(-1), stream };
}

function completionBody(session: string, texts: readonly string[], stream = false): object {
  const messages = texts.map((content) => ({ role: "user", content })).slice(-1);
  return { model: "default", metadata: { conversation_id: `conv_${session}` }, messages, stream };
}

function mcpBody(id: string, texts: readonly string[]): object {
  const name = texts.length === 1 ? "start_conversation" : "send_message";
  const params = { name, arguments: { session_id: id, message: texts.at(-1) } };
  return { jsonrpc: "2.0", id: texts.length, method: "tools/call", params };
}

const HOST = "Host: 127.0.0.1\r\n";

/** Returns a function that returns the next request of a connection. */
export function requestsOf(plan: RequestPlan): () => string {
  switch (plan.kind) {
    case "fixed":
      return () => plan.request;
    case "random state":
      return () => getRequest("/api/state", randomSessionId());
    case "protocol": {
      const [path, bodyOf] = PROTOCOLS[plan.protocol];
      let [id, texts, serial] = ["", [] as string[], 0];
      return () => {
        if (texts.length % plan.messagesPerSession === 0) [id, texts] = [randomSessionId(), []];
        serial += 1;
        texts.push(`${plan.text} ${serial}`);
        return jsonRequest("POST", path, id, JSON.stringify(bodyOf(id, texts)));
      };
    }
    case "chat": {
      const { headers = "" } = plan;
      const prefer = plan.prefer === null ? headers : `${headers}Prefer: ${plan.prefer}\r\n`;
      let [sessionId, left, serial] = ["", 0, 0];
      return () => {
        if (left === 0) [sessionId, left] = [randomSessionId(), plan.messagesPerSession];
        left -= 1;
        serial += 1;
        const message = `${plan.text}+${serial}`;
        return `POST /api/chat?message=${message} HTTP/1.1\r\n${HOST}X-Session-Id: ${sessionId}\r\n${prefer}Content-Length: 0\r\n\r\n`;
      };
    }
  }
}

/** Returns a GET request. `headers` are whole lines, each with its line end. */
export function getRequest(path: string, sessionId: string, headers = ""): string {
  return `GET ${path} HTTP/1.1\r\n${HOST}X-Session-Id: ${sessionId}\r\n${headers}\r\n`;
}

export function postRequest(path: string, sessionId: string): string {
  return `POST ${path} HTTP/1.1\r\n${HOST}X-Session-Id: ${sessionId}\r\nContent-Length: 0\r\n\r\n`;
}

/** Returns a request with a body of JSON. */
export function jsonRequest(method: string, path: string, sessionId: string, body: string): string {
  const length = Buffer.byteLength(body);
  return `${method} ${path} HTTP/1.1\r\n${HOST}X-Session-Id: ${sessionId}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

/** Returns a UUID of version 4. */
export function randomSessionId(): string {
  const bytes = randomFillSync(Buffer.allocUnsafe(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
