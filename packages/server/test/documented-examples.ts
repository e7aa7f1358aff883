// The requests in the OpenAPI document: each operation with its examples, as a client without a key sends
// them.

import { randomUUID } from "node:crypto";

export interface ExampleRequest {
  readonly operationId: string;
  readonly method: string;
  /** Path in the document, with placeholders. */
  readonly path: string;
  readonly tag: string;
  /** Path and query of the request. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The documented statuses of success. */
  readonly successes: readonly number[];
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema: { readonly examples?: readonly string[] };
    readonly example?: string;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Media {
  readonly example: unknown;
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** Returns the requests of all operations that need no key, deletions last. */
export async function exampleRequests(url: string): Promise<readonly ExampleRequest[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { readonly paths: Paths };
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // An example of a signed message would need a nonce of this service.
      .filter(([, { operationId }]) => operationId !== "verifySignIn")
      // `deleteThread` deletes the only session.
      .filter(([, { operationId }]) => operationId !== "agentDeleteSession")
      // Ids of responses, items and files come from the service; the tests in openai/ use them.
      .filter(() => !/^\/v1\/(?:responses|conversations|files)\/\{id\}/.test(path))
      // Ids of turns and actions too; the tests in aomi/ use them.
      .filter(() => !/^\/v1\/agent\/.*\/(?:interrupt|result)$/.test(path))
      // An upload has no JSON, and a download needs one; black-box/files.test.ts has both.
      .filter(() => !path.startsWith("/api/files"))
      // The default App of this service has no users; the tests in mcp-server/ read the metadata of one that has.
      .filter(() => !path.startsWith("/.well-known/"))
      .filter(
        ([, { security }]) => security.length === 0 || security.some((one) => Object.keys(one).length === 0),
      )
      .map(([method, operation]) => exampleOf(path, method, operation)),
  );
  return requests.toSorted((one, other) => Number(isDeletion(one)) - Number(isDeletion(other)));
}

const isDeletion = ({ operationId }: ExampleRequest): boolean => operationId === "deleteThread";

function exampleOf(path: string, method: string, operation: Operation): ExampleRequest {
  const { operationId, parameters = [], requestBody, responses } = operation;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let target = path;
  for (const { in: place, name, example, schema } of parameters) {
    const value = example ?? schema.examples?.[0];
    if (value === undefined) continue;
    if (place === "path") target = target.replace(`{${name}}`, encodeURIComponent(value));
    if (place === "query") query.set(name, value);
    if (place === "header") headers[name] = value;
  }
  const media = requestBody?.content["application/json"];
  if (media !== undefined) headers["Content-Type"] = "application/json";
  return {
    operationId,
    method,
    path,
    tag: operation.tags[0],
    target: query.size === 0 ? target : `${target}?${query.toString()}`,
    headers,
    body: media === undefined ? null : JSON.stringify(media.example),
    successes: Object.keys(responses)
      .map(Number)
      .filter((status) => status < 300),
  };
}

/**
 * Operations on an action, whose id the service creates: the tool of `ASKING` that makes it, and the end of
 * their path.
 */
const ON_ACTIONS: Readonly<Record<string, { readonly tool: string; readonly end: string }>> = {
  decideAction: { tool: "current_time", end: "" },
  claimAction: { tool: "read_page", end: "/claim" },
};

/**
 * Lets the demo model make an action for the operation in the session of the examples. Returns the path of the request;
 * `null` for other operations.
 */
export async function pathOnAction(
  url: string,
  { operationId, headers }: Pick<ExampleRequest, "operationId" | "headers">,
): Promise<string | null> {
  const operation = ON_ACTIONS[operationId];
  if (operation === undefined) return null;
  const message = encodeURIComponent(`call ${operation.tool} {}`);
  const options = { method: "POST", headers: { ...headers, Prefer: "wait=30" } };
  const answer = await fetch(`${url}/api/chat?message=${message}`, options);
  const { pending_actions: pending } = (await answer.json()) as { pending_actions: { id: string }[] };
  const [action] = pending;
  if (action === undefined) throw new Error("The demo model made no action");
  return `/api/actions/${action.id}${operation.end}`;
}

/** Returns the path of an operation on an answer, with a new one; `null` for other operations. */
export async function pathOnAnswer(
  url: string,
  { path }: Pick<ExampleRequest, "path">,
): Promise<string | null> {
  if (!path.includes("{message_id}")) return null;
  const session = randomUUID();
  const headers = { "X-Session-Id": session, Prefer: "wait=30" };
  const answer = await fetch(`${url}/api/chat?message=hello`, { method: "POST", headers });
  const { messages } = (await answer.json()) as { messages: { id: string }[] };
  return path.replace("{id}", session).replace("{message_id}", messages.at(-1)?.id ?? "");
}

/**
 * A default App in which the clock tool, which no example uses, needs approval, and another tool runs in the
 * client.
 */
export const ASKING = {
  apps: {
    default: {
      models: ["demo/assistant"],
      approvals: { current_time: "always" },
      clientTools: { read_page: { description: "Reads the page", inputSchema: { type: "object" } } },
    },
  },
};
