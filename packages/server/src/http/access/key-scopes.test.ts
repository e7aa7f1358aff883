// Scopes of App keys: each operation needs one of them, and docs/security.md has the table.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { randomUUID } from "node:crypto";
import type { LightMyRequestResponse } from "fastify";
import { APP_SCOPES, type AppScope, type KeyScope } from "@colloquy/engine/internal/core/key-scopes";
import { startAppEdges } from "../testing/app-edges.ts";
import { streamOf } from "../testing/caller-of.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { createSession, expectUnauthorized, keyed, WALLET } from "../testing/edge.ts";

const edges = await startAppEdges();

const SECURITY = join(import.meta.dirname, "../../../../../docs/security.md");

/** Query strings of valid requests, by operation id. */
const QUERIES: Readonly<Record<string, string>> = {
  sendMessage: "app=vault&message=hello",
  uploadFile: "app=vault",
  setModel: "rig=demo/assistant",
  listThreads: `public_key=${WALLET}`,
  search: "q=hello",
  listSecrets: "app=vault&client_id=a",
  setSecrets: "app=vault&client_id=a",
  exportUser: "app=vault",
  eraseUser: "app=vault",
  removeSecrets: "app=vault&client_id=a",
  removeSecret: "app=vault&client_id=a",
};
const bodyOf = (operation: string, session: string): object | undefined => {
  const bodies: Readonly<Record<string, object>> = {
    renameThread: { title: "Renamed" },
    decideAction: { decision: "deny" },
    forkThread: { session_id: randomUUID() },
    setSecrets: {},
    ingestSecrets: { app: "vault", client_id: "a", secrets: {} },
    giveFeedback: { score: 1 },
    uploadFile: { tea: 1 },
    aiSdkChat: {
      id: session,
      messages: [{ id: randomUUID(), role: "user", parts: [{ type: "text", text: "hello" }] }],
      trigger: "submit-message",
      app: "vault",
    },
  };
  return bodies[operation];
};

interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
}

interface Documented {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly security?: readonly object[];
}

/** Returns true if the OpenAPI document lists an App key for the operation. */
const takesKey = ({ parameters = [] }: Documented): boolean =>
  parameters.some(({ name }) => name === "SERVICE-APP-KEY");
/**
 * Returns true for operations of a signed-in user, on whose behalf a key with `act_as` may act. Excludes
 * `/api/auth`.
 */
const isOfUser = ({ security = [] }: Documented, path: string): boolean =>
  security.length > 0 && security.every((scheme) => "userToken" in scheme) && !path.startsWith("/api/auth/");

async function operationsThat(
  matches: (documented: Documented, path: string) => boolean,
): Promise<readonly Operation[]> {
  const { paths } = (await edges.testEdge().app.inject("/openapi.json")).json<{
    paths: Record<string, Record<string, Documented>>;
  }>();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, documented]) => matches(documented, path))
      .map(([method, { operationId: id }]) => ({
        id,
        method: method.toUpperCase() as Operation["method"],
        path,
      })),
  );
}

/** Sends the operation for a new session of the App `vault`, which needs a key for everything. */
async function send({ id, method, path }: Operation, key: string, more: object = {}) {
  const edge = edges.testEdge();
  const isOnAction = path.includes("/actions/{id}");
  const message = isOnAction ? "call look" : "hello";
  const { pending_actions, messages } = await createSession(edges, edge.session, "vault", message);
  const named = path.replace("{message_id}", messages.at(-1)!.id);
  const target = path.includes("/files/{id}") ? await uploaded(edge) : pending_actions[0]?.id;
  const url = isOnAction || path.includes("/files/") ? named.replace("{id}", target!) : named;
  const payload = bodyOf(id, edge.session);
  const accept = id === "subscribe" ? { accept: "text/event-stream" } : {};
  const headers = { "service-app-key": key, ...accept, ...more };
  const query = QUERIES[id] === undefined ? "" : `?${QUERIES[id]}`;
  if (id === "subscribe") {
    // An open stream would not end.
    const sent = { ...headers, "x-session-id": edge.session };
    const begun = await edge.app.inject({ method, url, headers: sent, payloadAsStream: true });
    begun.stream().destroy();
    if (begun.statusCode === 200) return begun;
  }
  return await edge.send(method, `${url}${query}`, { headers, ...(payload && { payload }) });
}

/** Uploads a file to the session of the edge. Returns its id. */
async function uploaded(edge: ReturnType<typeof edges.testEdge>): Promise<string> {
  const headers = { "service-app-key": await keyWith("chat"), "content-type": "text/plain" };
  const answer = await edge.send("POST", "/api/files?app=vault", { headers, payload: "tea" });
  return answer.json<{ id: string }>().id;
}

/** Creates a key of the App `vault`. */
const keyWith = (...scopes: readonly KeyScope[]) => edges.key(["vault"], scopes);

const isScopeMissing = ({ statusCode, body }: LightMyRequestResponse): boolean =>
  statusCode === 403 && body.includes('"scope_missing"');

let operations: readonly Operation[];
beforeAll(async () => {
  operations = await operationsThat(takesKey);
});

/** Returns the only scope with which a key may be used for the operation. */
async function scopeOf(operation: Operation): Promise<AppScope> {
  const enough: AppScope[] = [];
  for (const scope of APP_SCOPES) {
    const answer = await send(operation, await keyWith(scope));
    if (isScopeMissing(answer)) continue;
    enough.push(scope);
    expect([operation.id, answer.statusCode]).toEqual([operation.id, expect.toBeOneOf([200, 204])]);
  }
  expect({ id: operation.id, count: enough.length }).toEqual({ id: operation.id, count: 1 });
  return enough[0]!;
}

it("needs exactly one scope for each operation, as the table in docs/security.md says", async () => {
  expect(operations.length).toBeGreaterThan(15);
  const rows = new Map<AppScope, string[]>(APP_SCOPES.map((scope) => [scope, []]));
  for (const operation of operations)
    rows.get(await scopeOf(operation))!.push(`\`${operation.method} ${operation.path}\``);
  const table = [
    "| Scope | Operations |",
    "|---|---|",
    ...APP_SCOPES.map((scope) => `| \`${scope}\` | ${rows.get(scope)!.join(", ")} |`),
  ].join("\n");
  expect(readFileSync(SECURITY, "utf8")).toContain(table);
});

it("needs act_as and another scope for the operations of a user, as the table says", async () => {
  const named = { "colloquy-owner": "https://login.example.com alice" };
  const entries: string[] = [];
  for (const operation of await operationsThat(isOfUser)) {
    const without = await send(operation, await keyWith(...APP_SCOPES), named);
    expectProblem(without, 403, "scope_missing");
    for (const scope of APP_SCOPES) {
      const answer = await send(operation, await keyWith("act_as", scope), named);
      if (!isScopeMissing(answer))
        entries.push(`\`${operation.method} ${operation.path}\` with \`${scope}\``);
    }
  }
  const row = `| \`act_as\` and the header \`Colloquy-Owner\` | ${entries.join(", ")} |`;
  expect(readFileSync(SECURITY, "utf8")).toContain(row);
});

describe("a key without a scope", () => {
  it("is refused only after the key itself and the request were found valid, and changes nothing", async () => {
    const edge = edges.testEdge();
    const reading = keyed(await keyWith("read"));
    expectUnauthorized(await edge.send("POST", "/api/chat?app=vault&message=hello", keyed("nonsense")));
    expectProblem(await edge.send("POST", "/api/chat?app=vault", reading), 400, "parameter_missing");
    const answer = await edge.send("POST", "/api/chat?app=vault&message=hello", reading);
    expectProblem(answer, 403, "scope_missing");
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it("is ignored in the default App", async () => {
    const key = keyed(await keyWith("secrets"));
    const answer = await edges.testEdge().send("POST", "/api/chat?message=hello", key);
    expect(answer.statusCode).toBe(200);
  });

  it("closes a stream whose session is bound to an App in which the key may not read", async () => {
    const opens = async (scope: AppScope): Promise<boolean> => {
      const grant = {
        keyId: "a",
        name: null,
        apps: new Set(["vault"]),
        scopes: new Set([scope]),
        checkedAt: 0,
      };
      const stream = await streamOf({ grant });
      return stream.endFor({ app: "vault", owner: null }) === null;
    };
    expect([await opens("chat"), await opens("read")]).toEqual([false, true]);
  });
});
