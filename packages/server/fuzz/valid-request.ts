// Requests that the service must accept, generated from its OpenAPI document with meaningful values.

import type { Random } from "../torture/harness/random.ts";
import type { JsonSchema, OpenApiParameter, Operation } from "./openapi.ts";
import { asBytes, type RequestParts } from "./request-parts.ts";

export interface RequestContext {
  /** Value of `Host`. */
  readonly host: string;
  /** Sessions that requests may change in any way. */
  readonly sessions: readonly string[];
}

const MESSAGES = [
  "Hello",
  "what is 12 * 7?",
  "what time is it",
  "count to 3",
  'call draw {"what":1}',
  "Grüße aus Köln 👋🏽",
  "e\u0301 is not \u00e9",
  "\u202eright to left",
  "a\u200bb",
  "'; DROP TABLE sessions; --",
  "<script>alert(1)</script>",
  "${jndi:ldap://x}",
];

/** Files to upload, which are no JSON of a schema. */
const FILES = [
  { type: "text/plain; charset=utf-8", bytes: Buffer.from("Grüße 👋🏽") },
  { type: "text/csv", bytes: Buffer.from("a;b\r\n1;2\r\n") },
  { type: "application/json", bytes: Buffer.from('{"a":[1]}') },
  { type: "application/pdf", bytes: Buffer.from("%PDF-1.7\n%%EOF\n") },
] as const;

/** A message of Sign-In with Ethereum (EIP-4361). */
const SIGN_IN = [
  "127.0.0.1 wants you to sign in with your Ethereum account:",
  "0x52908400098527886E0F7030069857D2E4169EE7",
  "",
  "",
  "URI: http://127.0.0.1/",
  "Version: 1",
  "Chain ID: 1",
  "Nonce: abcdefgh12345678",
  "Issued At: 2026-11-23T12:00:00.000Z",
].join("\n");

/** Parameters whose valid values come from earlier answers. */
const FROM_ANSWERS = new Set(["cursor", "after", "before"]);

/** Parameters that are optional only for requests with a token, by path. */
const NEEDED_WITHOUT_TOKEN: Readonly<Record<string, string>> = {
  "/api/sessions": "public_key",
  "/api/secrets": "client_id",
  "/api/actions": "X-Session-Id",
  "/api/actions/{id}": "X-Session-Id",
  "/api/secrets/{name}": "client_id",
};

/** Returns a request with every required parameter and some optional ones. */
export function validRequest(operation: Operation, context: RequestContext, random: Random): RequestParts {
  const chosen = operation.parameters.filter(
    ({ name, required }) =>
      required ||
      NEEDED_WITHOUT_TOKEN[operation.path] === name ||
      (!FROM_ANSWERS.has(name) && random.chance(0.3)),
  );
  const among = (place: OpenApiParameter["in"]) => chosen.filter((parameter) => parameter.in === place);
  const value = (parameter: OpenApiParameter) => parameterValue(parameter, context, random);
  let path = operation.path;
  for (const parameter of operation.parameters.filter((one) => one.in === "path")) {
    path = path.replace(`{${parameter.name}}`, encodeURIComponent(value(parameter)));
  }
  const headers: [string, string][] = among("header").map((parameter) => [
    parameter.name,
    asBytes(value(parameter)),
  ]);
  if (operation.path === "/api/updates") setHeader(headers, "Accept", "text/event-stream");
  const body =
    operation.body !== null && (operation.bodyRequired || random.chance(0.8))
      ? bodyOf(operation, random)
      : null;
  const file = operation.path === "/api/files" ? random.pick(FILES) : null;
  const inBody = new Set(body === null ? [] : Object.keys(body));
  const query: [string, string][] = among("query")
    .filter(({ name }) => !inBody.has(name))
    .map((parameter) => [parameter.name, encodeURIComponent(value(parameter))]);
  if (
    operation.path === "/api/chat" &&
    !inBody.has("message") &&
    !query.some(([name]) => name === "message")
  ) {
    query.push(["message", encodeURIComponent(random.pick(MESSAGES))]);
  }
  const type = file?.type ?? (body === null ? null : "application/json");
  if (type !== null) headers.push(["Content-Type", type]);
  return {
    method: operation.method,
    path,
    query,
    version: "HTTP/1.1",
    headers: [["Host", context.host], ...headers],
    body: file?.bytes ?? (body === null ? null : Buffer.from(JSON.stringify(body))),
    measured: true,
  };
}

function setHeader(headers: [string, string][], name: string, value: string): void {
  const found = headers.find(([other]) => other.toLowerCase() === name.toLowerCase());
  if (found === undefined) headers.push([name, value]);
  else found[1] = value;
}

const RESPONSE_SCHEMAS = [
  { type: "object" },
  { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
  { type: "object", properties: { next: { $ref: "#" } } },
  { type: "object", not: {} },
] as const;

const DRAW = {
  description: "Draws",
  inputSchema: { type: "object", properties: { what: { enum: ["a", 1] } } },
};
const CLIENT_TOOLS = [
  {},
  { draw: DRAW },
  { draw: { ...DRAW, timeoutMs: 1_000 }, constructor: { ...DRAW, repeatable: true } },
] as const;

function bodyOf(operation: Operation, random: Random): Record<string, unknown> {
  const { properties = {}, required = [], anyOf = [{}] } = operation.body ?? {};
  const withoutToken = NEEDED_WITHOUT_TOKEN[operation.path];
  const needed = [...required, ...(random.pick(anyOf).required ?? []), withoutToken];
  const names = Object.keys(properties).filter((name) => needed.includes(name) || random.chance(0.4));
  if (operation.path === "/api/chat" && random.chance(0.9)) names.push("message");
  const isSignIn = operation.path === "/api/auth/siwe/verify";
  return Object.fromEntries(
    [...new Set(names)].map((name) => [
      name,
      isSignIn && name === "message" ? SIGN_IN : bodyValue(name, properties[name], random),
    ]),
  );
}

function bodyValue(name: string, schema: JsonSchema | undefined, random: Random): unknown {
  if (["user_state", "userState", "state"].includes(name)) return userState(random);
  // Lists of AG-UI.
  if (name === "context") return random.pick([[], [{ description: "Page", value: "value" }]]);
  if (name === "tools" || name === "resume") return [];
  // Ids of files come from earlier answers.
  if (name === "attachments") return [];
  if (name === "response_schema") return random.pick(RESPONSE_SCHEMAS);
  if (name === "messages" && schema?.items !== undefined) return [uiMessage(random)];
  if (name === "metadata")
    return random.pick([{}, { key: "value" }, { key: null, deeper: { list: [1, null] } }]);
  if (name === "client_tools") return random.pick(CLIENT_TOOLS);
  if (name === "message" || name === "title") return random.pick(MESSAGES);
  if (name === "tags") return random.pick([[], ["value"]]);
  if (schema?.type === "null") return null;
  if (schema?.type === "object") return {};
  return namedValue(name, random) ?? schemaValue(schema ?? {}, random);
}

/** A message of the AI SDK, whose calls may be answered. */
function uiMessage(random: Random): object {
  const approval = { id: random.uuid(), approved: random.chance(0.5) };
  const calls = [
    { type: "dynamic-tool", toolCallId: "c", state: "approval-responded", approval },
    { type: "tool-x", toolCallId: "c", state: "output-available", output: { answer: "x" } },
  ];
  const text = random.pick(MESSAGES);
  return random.chance(0.8)
    ? // AG-UI reads `content`, the AI SDK `parts`.
      { id: random.uuid(), role: "user", content: text, parts: [{ type: "text", text }] }
    : { id: random.uuid(), role: "assistant", parts: [{ type: "step-start" }, random.pick(calls)] };
}

function parameterValue(parameter: OpenApiParameter, context: RequestContext, random: Random): string {
  const name = parameter.name.toLowerCase();
  if (name === "x-session-id" || (parameter.in === "path" && name.endsWith("id"))) {
    return random.chance(0.8) ? random.pick(context.sessions) : random.uuid();
  }
  if (name === "user_state") return JSON.stringify(userState(random));
  if (name === "message") return random.pick(MESSAGES);
  if (name === "include" && parameter.schema.enum?.[0] === "reasoning") return "reasoning";
  return namedValue(name, random) ?? String(schemaValue(parameter.schema, random));
}

/** Values for names of the interface specification and the contract. */
function namedValue(name: string, random: Random): string | null {
  switch (name) {
    case "app":
      return "default";
    case "rig":
    case "model":
    case "baml":
      return "demo/assistant";
    case "public_key":
      return random.pick(["0xAbC0000000000000000000000000000000000001", "So1anaWa11et", "0xdef"]);
    case "messages":
      return "last:5";
    case "signature":
      return "0xabcdef";
    case "client_id":
      return "browser-1";
    case "accept":
      return random.pick(["*/*", "application/json", "text/event-stream"]);
    case "prefer":
      return random.pick(["wait=1", "respond-async, wait=2", "handling=lenient"]);
    case "idempotency-key":
      return random.uuid();
    case "if-none-match":
      return random.pick(["*", '"abc"', 'W/"abc", "def"']);
    case "last-event-id":
    case "last_event_id":
      return random.pick(["0", "abc-1", "k3f9-42"]);
    case "include":
      return random.pick(["tools", "messages,state", "tools,messages,state"]);
    case "service-app-key":
      return "clq_none_none";
    default:
      return null;
  }
}

function schemaValue(schema: JsonSchema, random: Random): string | number | boolean {
  // A nullable value: its type comes first.
  if (schema.anyOf?.[0] !== undefined) return schemaValue(schema.anyOf[0], random);
  const [first] = schema.enum ?? [];
  if (typeof first === "string" || typeof first === "number") return first;
  const type = typeof schema.type === "string" ? schema.type : schema.type?.[0];
  if (type === "integer" || type === "number")
    return random.integer(schema.minimum ?? 1, schema.maximum ?? 50);
  if (type === "boolean") return random.chance(0.5);
  return schema.format === "uuid" ? random.uuid() : "value";
}

function userState(random: Random): Record<string, unknown> {
  return {
    connection: { is_connected: random.chance(0.5) },
    evm: { address: "0xabc", chain_id: random.pick([1, "137", null]) },
    ...(random.chance(0.2) && { extra: { deeper: [1, 2, { x: "y" }] } }),
  };
}
