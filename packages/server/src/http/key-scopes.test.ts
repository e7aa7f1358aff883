// Scopes of App keys: each operation needs one of them, and docs/security.md has the table.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { CheckedStream } from "./stream-access.ts";
import { InMemoryApps } from "./testing/in-memory-keys.ts";
import { APP_SCOPES, type AppScope, type KeyScope } from "../core/key-scopes.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { OTHER_SESSION, SESSION, testEdge, type TestEdge, WALLET } from "./testing/edge.ts";
import { edgeWithApps, expectUnauthorized, givenSession, key } from "./testing/edge-with-apps.ts";
import { ACTION } from "./testing/in-memory-actions.ts";
import { expectProblem } from "./testing/expect-problem.ts";

const SECURITY = join(import.meta.dirname, "../../../../docs/security.md");

/** Queries and bodies that operations need, by operation id. */
const QUERIES: Readonly<Record<string, string>> = {
  sendMessage: "app=vault&message=hello",
  setModel: "rig=demo/assistant",
  listThreads: `public_key=${WALLET}`,
  listSecrets: "app=vault&client_id=a",
  setSecrets: "app=vault&client_id=a",
  exportUser: "app=vault",
  eraseUser: "app=vault",
  removeSecrets: "app=vault&client_id=a",
};
const BODIES: Readonly<Record<string, object>> = {
  renameThread: { title: "Renamed" },
  decideAction: { decision: "deny" },
  forkThread: { session_id: OTHER_SESSION },
  setSecrets: {},
  aiSdkChat: {
    id: SESSION,
    messages: [{ id: OTHER_SESSION, role: "user", parts: [{ type: "text", text: "hello" }] }],
    trigger: "submit-message",
    app: "vault",
  },
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

/** The operations that take an App key, by the OpenAPI document. */
const takesKey = ({ parameters = [] }: Documented): boolean =>
  parameters.some(({ name }) => name === "SERVICE-APP-KEY");
/** Operations of a signed-in user, whom a key with `act_as` may name. Those below `/api/auth` are about a token. */
const isOfUser = ({ security = [] }: Documented, path: string): boolean =>
  security.length > 0 && security.every((scheme) => "userToken" in scheme) && !path.startsWith("/api/auth/");

async function operationsThat(
  matches: (documented: Documented, path: string) => boolean,
): Promise<readonly Operation[]> {
  const { paths } = (await testEdge().app.inject("/openapi.json")).json<{
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

/** Sends the operation for a session of the App `vault`, which needs a key for everything. */
async function send(edge: TestEdge, { id, method, path }: Operation, sent: string, more: object = {}) {
  await givenSession(edge, "vault");
  // An open stream would not end.
  edge.services.updates.open = async (wanted, sink) => {
    sink.write(Buffer.from("retry: 1\n\n"));
    sink.end("finish");
    return { close() {}, wanted };
  };
  const url = path.replace("/actions/{id}", `/actions/${ACTION.id}`).replace("{id}", SESSION);
  const payload = BODIES[id];
  const accept = id === "subscribe" ? { accept: "text/event-stream" } : {};
  const headers = { "x-session-id": SESSION, "service-app-key": sent, ...accept, ...more };
  const query = QUERIES[id] === undefined ? "" : `?${QUERIES[id]}`;
  return await edge.send(method, `${url}${query}`, { headers, ...(payload && { payload }) });
}

function edgeWithScopes(...scopes: readonly KeyScope[]): TestEdge {
  const edge = edgeWithApps();
  edge.services.keys.scopes.set("to-vault", scopes);
  return edge;
}

let operations: readonly Operation[];
beforeAll(async () => {
  operations = await operationsThat(takesKey);
});

/** Returns the only scope with which a key may be used for the operation. */
async function scopeOf(operation: Operation): Promise<AppScope> {
  const enough: AppScope[] = [];
  for (const scope of APP_SCOPES) {
    const answer = await send(edgeWithScopes(scope), operation, "to-vault");
    if (answer.statusCode < 300) enough.push(scope);
    else expectProblem(answer, 403, "scope_missing");
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
    expectProblem(
      await send(edgeWithScopes(...APP_SCOPES), operation, "to-vault", named),
      403,
      "scope_missing",
    );
    for (const scope of APP_SCOPES) {
      const answer = await send(edgeWithScopes("act_as", scope), operation, "to-vault", named);
      // The App of the test permits no claims, which is checked after the scope.
      const { code } = answer.statusCode === 200 ? { code: null } : answer.json<{ code: string }>();
      if (code !== "scope_missing")
        entries.push(`\`${operation.method} ${operation.path}\` with \`${scope}\``);
    }
  }
  const row = `| \`act_as\` and the header \`Colloquy-Owner\` | ${entries.join(", ")} |`;
  expect(readFileSync(SECURITY, "utf8")).toContain(row);
});

describe("a key without a scope", () => {
  it("is refused only after the key itself and the request were found valid, and changes nothing", async () => {
    const edge = edgeWithScopes("read");
    expectUnauthorized(await edge.send("POST", "/api/chat?app=vault&message=hello", key("nonsense")));
    expectProblem(await edge.send("POST", "/api/chat?app=vault", key("to-vault")), 400, "parameter_missing");
    expectProblem(
      await edge.send("POST", "/api/chat?app=vault&message=hello", key("to-vault")),
      403,
      "scope_missing",
    );
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("is ignored in the default App", async () => {
    const edge = edgeWithScopes("secrets");
    expect((await edge.send("POST", "/api/chat?message=hello", key("to-vault"))).statusCode).toBe(200);
  });

  it("closes a stream whose session is bound to an App in which the key may not read", () => {
    const opens = (scope: AppScope): boolean => {
      const grant = {
        keyId: "a",
        name: null,
        apps: new Set(["vault"]),
        scopes: new Set([scope]),
        askedAt: 0,
      };
      const stream = new CheckedStream({
        session: ANONYMOUS,
        apps: new InMemoryApps(),
        hasKey: true,
        credentials: { grant, user: null },
        check: () => Promise.reject(new Error("not checked")),
      });
      return stream.endFor({ app: "vault", owner: null }) === null;
    };
    expect([opens("chat"), opens("read")]).toEqual([false, true]);
  });
});
