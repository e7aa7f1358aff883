// Operations on the session of an App: the key that they require, and the order of their checks.

import { afterEach, describe, expect, it, vi } from "vitest";
import { randomUUID } from "node:crypto";
import type { InjectOptions } from "fastify";
import { bodyOf, startAppEdges } from "../testing/app-edges.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { createSession, type EdgeParts, expectUnauthorized } from "../testing/edge.ts";

type Method = NonNullable<InjectOptions["method"]>;

const MODELS = "/api/control/models";
const edges = await startAppEdges();
const { sending: key } = edges;
// Event streams end at once.
edges.service.feed.stop();

afterEach(() => vi.restoreAllMocks());

/** Returns an edge whose session is of the App and waits for a decision. `{action}` in URLs stands for it. */
async function edgeWith(app: string, parts: EdgeParts = {}) {
  const edge = edges.testEdge({}, parts);
  const { pending_actions } = await createSession(edges, edge.session, app, "call look");
  const send = (method: Method, url: string, sent: string | null, more: InjectOptions = {}) => {
    const payload = bodyOf(method, url);
    const headers = { accept: "text/event-stream", ...(sent !== null && key(sent).headers) };
    const path = url.replace("{action}", pending_actions[0]!.id);
    return edge.send(method, path, { ...(payload && { payload }), ...more, headers });
  };
  return { session: edge.session, send };
}

/** Every operation on a session, by header or by path. The isolation matrix has them with all kinds of keys. */
const ON_SESSION = [
  ["POST", "/api/sessions"],
  ["GET", "/api/state"],
  ["POST", "/api/interrupt"],
  ["GET", "/api/actions"],
  ["POST", "/api/actions/{action}"],
  ["GET", "/api/updates"],
  ["GET", MODELS],
  ["GET", "/api/sessions/{id}"],
  ["GET", "/api/sessions/{id}/messages"],
  ["PATCH", "/api/sessions/{id}"],
  ["DELETE", "/api/sessions/{id}"],
] as const;

describe.each(ON_SESSION)("%s %s", (method, url) => {
  it("ignores keys on a session of the default App", async () => {
    for (const sent of [null, "nonsense", "to-defi"])
      expect((await (await edgeWith("default")).send(method, url, sent)).statusCode).toBe(200);
  });

  it("is rejected on a session whose App was removed from the configuration", async () => {
    const { send } = await edgeWith("gone", { removedApp: "gone" });
    expectUnauthorized(await send(method, url, null));
    expectProblem(await send(method, url, "to-defi"), 403, "app_forbidden");
  });
});

describe.each([
  ["POST", "/api/sessions", { public_key: 7 }],
  ["POST", "/api/interrupt", null],
  ["POST", "/api/actions/{action}", { decision: 7 }],
  ["GET", "/api/sessions/{id}", null],
  ["GET", "/api/sessions/{id}/messages", null],
  ["PATCH", "/api/sessions/{id}", { title: 7 }],
  ["DELETE", "/api/sessions/{id}", null],
] as const)("%s %s without a key", (method, url, wrong) => {
  /** Returns a session, and the lookups of its App from then on. */
  async function countingEdge(app: string) {
    const edge = await edgeWith(app);
    return { ...edge, looks: vi.spyOn(edges.service.conversations, "appOf") };
  }

  it("does not look up the session's App first if no key is required", async () => {
    // A decision on a session of an App always needs a key.
    for (const app of url.startsWith("/api/actions/") ? ["default"] : ["default", "defi"]) {
      const { send, looks } = await countingEdge(app);
      expect((await send(method, url, null)).statusCode).toBe(200);
      expect(looks).not.toHaveBeenCalled();
    }
  });

  if (wrong === null) return;
  it("authorizes before it validates", async () => {
    for (const [app, status] of [
      ["default", 400],
      ["vault", 401],
    ] as const) {
      const { session, send, looks } = await countingEdge(app);
      expect((await send(method, url, null, { payload: wrong })).statusCode).toBe(status);
      expect(looks.mock.calls).toEqual([[session]]);
      looks.mockClear();
    }
  });
});

describe("the order of refusals on a session of an App", () => {
  it.each([
    ["GET", "/api/state?user_state=nonsense", undefined],
    ["GET", "/api/updates?include=nonsense", undefined],
    ["PATCH", "/api/sessions/{id}", { title: 7 }],
    ["GET", "/api/sessions/{id}/messages?limit=nonsense", undefined],
    ["POST", "/api/sessions", { public_key: 7 }],
    ["POST", "/api/actions/{action}", { decision: 7 }],
  ] as const)("answers 401 before 400 before 403: %s %s", async (method, url, payload) => {
    const { send } = await edgeWith("vault");
    const more = payload && { payload };
    expectUnauthorized(await send(method, url, null, more));
    expect((await send(method, url, "to-defi", more)).statusCode).toBe(400);
    expect((await send(method, url, "to-vault", more)).statusCode).toBe(400);
  });

  it("answers 404 for an unknown session, whichever key is sent", async () => {
    const path = `/api/sessions/${randomUUID()}`;
    for (const sent of ["nonsense", "to-defi"]) {
      expectProblem(await edges.testEdge().send("GET", path, key(sent)), 404, "session_not_found");
    }
  });
});

describe("HEAD", () => {
  it.each(["/api/state", MODELS, "/api/sessions/{id}", "/api/sessions/{id}/messages"])(
    "%s is authorized like GET",
    async (url) => {
      const { send } = await edgeWith("vault");
      expect((await send("HEAD", url, null)).statusCode).toBe(401);
      expect((await send("HEAD", url, "to-defi")).statusCode).toBe(403);
      expect((await send("HEAD", url, "to-vault")).statusCode).toBe(200);
    },
  );
});
