// Routes that forget a check, from public reports (owner/repository#number).

import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAdmission } from "../admission.ts";
import { startAppEdges } from "../testing/app-edges.ts";
import { createSession, expectUnauthorized } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import type { AppAccess, RouteAccess } from "./route-access.ts";

const OF_SESSION: AppAccess = { session: "header", app: "session", scope: "read" };
const edges = await startAppEdges();
const { testEdge, sending } = edges;
/** Sessions without an App, and of the App `vault`. */
const SESSION = randomUUID();
const SESSION_HEADER = { "x-session-id": SESSION };
const IN_VAULT = { "x-session-id": randomUUID() };
await createSession(edges, IN_VAULT["x-session-id"], "vault");

describe("a route without declared access", () => {
  it.each([
    ["strapi/strapi#5775", {}],
    ["VoltAgent/voltagent#708", { config: {} }],
    ["fastify/help#42", { preHandler: () => Promise.reject(new Error("not a check of ours")) }],
  ])("cannot be registered (%s)", (_report, options) => {
    const { app } = testEdge();
    expect(() => app.get("/api/mine", options, () => "ok")).toThrow(
      'The route GET /api/mine declares no access. Set config.access; "public" is for everybody.',
    );
  });

  it("cannot be registered in an encapsulated Fastify plugin either (fastify/fastify-auth#4)", async () => {
    const { app } = testEdge();
    app.register(async (inner) => {
      inner.get("/api/mine", () => "ok");
    });
    await expect(app.ready()).rejects.toThrow("The route GET /api/mine declares no access.");
  });
});

describe("a handler that does not authorize its caller", () => {
  // The-Vibe-Company/quivr#3697, xlang-ai/OpenAgents#152, aerele/jarvis#226: authenticated routes that do not
  // check the owner.
  const PLACES: readonly AppAccess[] = [
    OF_SESSION,
    { session: "none", app: "query", scope: "read" },
    { session: "none", app: "opened", scope: "read" },
  ];
  it.each(PLACES)("responds with 500 and discards the handler's response: %o", async (access) => {
    const edge = testEdge();
    edge.app.get("/api/forgetful", { config: { access } }, () => ({ history: "of somebody" }));
    const answer = await edge.app.inject({ url: "/api/forgetful", headers: SESSION_HEADER });
    expectProblem(answer, 500, "internal_error");
    expect(answer.body).not.toContain("somebody");
  });

  it("does not affect a handler that authorizes its caller", async () => {
    const edge = testEdge();
    edge.app.get("/api/careful", { config: { access: OF_SESSION } }, ({ caller }) =>
      caller.run(() => Promise.resolve({ id: caller.sessionId })),
    );
    const answer = await edge.app.inject({ url: "/api/careful", headers: SESSION_HEADER });
    expect([answer.statusCode, answer.json()]).toEqual([200, { id: SESSION }]);
  });
});

/** Creates an edge with `GET` and `POST /api/mine`, which require the key of `vault`. */
function edgeOf(access: RouteAccess, hooks: object = {}) {
  const edge = testEdge();
  const ran: string[] = [];
  for (const method of ["GET", "POST"] as const) {
    const schema = method === "GET" ? {} : { body: z.object({ text: z.string() }) };
    edge.app.route({
      method,
      url: "/api/mine",
      config: { access },
      schema,
      ...hooks,
      handler: ({ caller }) =>
        caller.run(async () => {
          ran.push(method);
          return "ok";
        }),
    });
  }
  return { edge, ran };
}

describe("a guarded route", () => {
  it.each(["GET", "HEAD", "POST"] as const)(
    "rejects an unauthenticated %s (kirodotdev/KiroCrew#2077)",
    async (method) => {
      const { edge, ran } = edgeOf(OF_SESSION);
      const answer = await edge.app.inject({ method, url: "/api/mine", headers: IN_VAULT });
      expect([answer.statusCode, ran]).toEqual([401, []]);
    },
  );

  it.each([
    ["/api//mine", 308],
    ["/api/mine/", 401],
    ["/API/mine", 404],
    ["/api/%6dine", 401],
    ["/api/%256dine", 404],
    ["/api/x/..%2Fmine", 404],
    ["/anything/api/mine", 404],
  ])(
    "responds to %s with %i (tuupola/slim-jwt-auth#50, withastro/astro#16556, maximhq/bifrost#5765, bastillion-io/Bastillion#669)",
    async (url, status) => {
      const { edge, ran } = edgeOf(OF_SESSION);
      expect((await edge.app.inject({ url, headers: IN_VAULT })).statusCode).toBe(status);
      expect(ran).toEqual([]);
    },
  );

  it("runs the route's own hooks after the gate's (nearform/fastify-casbin-rest#1)", async () => {
    const order: string[] = [];
    const hook = (name: string) => async () => void order.push(name);
    const { edge } = edgeOf(OF_SESSION, { preParsing: hook("preParsing"), preHandler: [hook("preHandler")] });
    const send = (headers: object) =>
      edge.app.inject({
        method: "POST",
        url: "/api/mine",
        payload: { text: "hello" },
        headers: { ...IN_VAULT, ...headers },
      });
    expectUnauthorized(await send({ "service-app-key": "nonsense" }));
    expect(order).toEqual([]);
    expect((await send(sending("to-vault").headers)).statusCode).toBe(200);
    expect(order).toEqual(["preParsing", "preHandler"]);
  });

  it("rejects before reading the body (hasamba/DFIR-Companion#681, scrypster/muninndb#416, fastify/help#524)", async () => {
    const { edge } = edgeOf(OF_SESSION);
    let isRead = false;
    const payload = new Readable({ read: () => void (isRead = true) });
    const headers = { ...IN_VAULT, "content-type": "application/json", "transfer-encoding": "chunked" };
    expectUnauthorized(await edge.app.inject({ method: "POST", url: "/api/mine", payload, headers }));
    expect(isRead).toBe(false);
  });

  it("rejects a key without the declared scope (frankbria/codeframe#717, runtarahq/runtara#181)", async () => {
    const { edge, ran } = edgeOf({ ...OF_SESSION, scope: "secrets" });
    const headers = { ...IN_VAULT, "service-app-key": await edges.key(["vault"], ["read"]) };
    expectProblem(await edge.app.inject({ url: "/api/mine", headers }), 403, "scope_missing");
    expect(ran).toEqual([]);
  });

  it("does not exempt requests that look like a browser (rh-aiservices-bu/litemaas#137)", async () => {
    const { edge } = edgeOf(OF_SESSION);
    const headers = { ...IN_VAULT, "user-agent": "Mozilla/5.0", accept: "application/json" };
    expectUnauthorized(await edge.app.inject({ url: "/api/mine", headers }));
  });
});

describe("keyHeader", () => {
  const bearer = { ...OF_SESSION, keyHeader: "authorization" } as const;

  it("accepts the App key in another header only on routes that declare it (DivinPrince/quickinbox#9)", async () => {
    const { edge } = edgeOf({ ...OF_SESSION, keyHeader: "x-own-key" });
    const headers = { ...IN_VAULT, "x-own-key": sending("to-vault").headers["service-app-key"] };
    expect((await edge.app.inject({ url: "/api/mine", headers })).statusCode).toBe(200);
    expectUnauthorized(await edge.app.inject({ url: "/api/state", headers }));
  });

  it("accepts a bearer credential as the App key only if it has the prefix of App keys", async () => {
    const { edge } = edgeOf(bearer);
    const key = sending("to-vault").headers["service-app-key"];
    const send = (authorization: string) =>
      edge.app.inject({ url: "/api/mine", headers: { ...IN_VAULT, authorization } });
    expect((await send(`Bearer ${key}`)).statusCode).toBe(200);
    expectUnauthorized(await send("Bearer clq_other"));
    expectUnauthorized(await send(`Bearer ${key.slice(1)}`));
    expectUnauthorized(await send("clq_to-vault"));
  });
});

it("throws if a route creates a session without declaring `creates`", () => {
  const config = { loopback: true, trustedProxies: [] };
  const admission = createAdmission({ config, services: { readiness: {} } } as never);
  const requestOf = (creates: boolean) =>
    ({ caller: { creates, namedSession: SESSION, spelling: SESSION } }) as never;
  expect(admission.newSession(requestOf(true))).toEqual({ spelling: SESSION, admit: null });
  expect(() => admission.newSession(requestOf(false))).toThrow("does not declare `creates`");
});
