// Properties that every route must have according to its declared access.

import { randomUUID } from "node:crypto";
import type { InjectOptions } from "fastify";
import { beforeAll, expect, it } from "vitest";
import { startEdges, WALLET } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import type { RouteAccess } from "./route-access.ts";

/** Parts of a valid request other than the session, by method and path. */
const NEEDS: Readonly<Record<string, InjectOptions>> = {
  "GET /api/sessions": { query: { public_key: WALLET } },
  "GET /api/search": { query: { q: "tea" } },
  "POST /api/chat": { query: { message: "hello" } },
  "POST /api/control/model": { query: { rig: "demo/assistant" } },
  "POST /api/actions/:id": { payload: { decision: "approve" } },
  "GET /api/updates": { headers: { accept: "text/event-stream" } },
};

const edges = await startEdges();
const edge = edges.testEdge();
const SESSION = edge.session;

const MALFORMED: readonly (string | readonly string[])[] = [
  "",
  "x",
  "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d1",
  "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d111",
  "7f8d1f0e8a544c4e9d270b5c3c0b8d11",
  "{7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11}",
  "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d1g",
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
  [SESSION, SESSION],
];

const declared = new Map<string, RouteAccess | undefined>();
beforeAll(async () => {
  const { app } = edges.testEdge({}, { hasAdmin: true });
  app.addHook("onRoute", ({ method, url, config }) => {
    declared.set(`${[method].flat().join()} ${url}`, config?.access);
  });
  await app.ready();
});

/** Returns the routes whose declared access matches `part`. */
function routesWith(part: object): readonly string[] {
  const matches = (access: RouteAccess | undefined): boolean =>
    typeof access === "object" &&
    Object.entries(part).every(([name, value]) => Reflect.get(access, name) === value);
  return [...declared].flatMap(([name, access]) => (matches(access) && !name.startsWith("HEAD") ? name : []));
}

async function send(name: string, ids: string | readonly string[] | null) {
  const [method, url = ""] = name.split(" ");
  const { headers, ...rest } = NEEDS[name] ?? {};
  const answer = await edge.app.inject({
    ...rest,
    method: method as "GET",
    url: url.replace(":id", randomUUID()),
    headers: { ...headers, ...(ids !== null && { "x-session-id": ids as string }) },
  });
  if (typeof ids === "string") expect([name, await edges.exists(ids)]).toEqual([name, false]);
  return answer;
}

it("requires the header X-Session-Id on routes that take the session from it", async () => {
  const routes = routesWith({ session: "header" });
  expect(routes.length).toBeGreaterThan(10);
  for (const name of routes) expectProblem(await send(name, null), 400, "session_id_missing");
});

it.each(MALFORMED.map((id) => ({ id })))("rejects the session id $id everywhere", async ({ id }) => {
  for (const name of [...routesWith({ session: "header" }), ...routesWith({ session: "header?" })])
    expectProblem(await send(name, id), 400, "session_id_invalid");
});

it("requires an operator on exactly the routes below /api/admin", () => {
  const operators = [...declared].filter(([, access]) => access === "operator").map(([name]) => name);
  expect(operators.length).toBeGreaterThan(20);
  expect(operators).toEqual([...declared.keys()].filter((name) => name.includes(" /api/admin/")));
});

it("has no public route that serves data of a session", () => {
  const open = [...declared].filter(([name, access]) => access === "public" && !name.startsWith("HEAD"));
  expect(open.map(([name]) => name).toSorted()).toEqual([
    "GET /api/page",
    "GET /healthz",
    "GET /metrics",
    "GET /readyz",
    "POST /api/auth/siwe/nonce",
    "POST /api/auth/siwe/verify",
  ]);
});
