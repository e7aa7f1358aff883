// Operations on the session of an App: the key that they require, and the order of their checks.

import { describe, expect, it } from "vitest";
import { OTHER_SESSION, SESSION, type TestEdge } from "./testing/edge.ts";
import { bodyOf, edgeWithApps, expectUnauthorized, givenSession, key } from "./testing/edge-with-apps.ts";
import { ACTION } from "./testing/in-memory-actions.ts";
import { expectProblem } from "./testing/expect-problem.ts";

const MODELS = "/api/control/models";

/** Every operation on a session, by header or by path. */
const ON_SESSION = [
  ["POST", "/api/sessions", {}],
  ["GET", "/api/state", {}],
  ["POST", "/api/interrupt", {}],
  ["GET", "/api/actions", {}],
  ["POST", `/api/actions/${ACTION.id}`, {}],
  ["GET", "/api/updates", { accept: "text/event-stream" }],
  ["GET", MODELS, {}],
  ["GET", `/api/sessions/${SESSION}`, {}],
  ["GET", `/api/sessions/${SESSION.toUpperCase()}`, {}],
  ["GET", `/api/sessions/${SESSION}/messages`, {}],
  ["PATCH", `/api/sessions/${SESSION}`, {}],
  ["DELETE", `/api/sessions/${SESSION}`, {}],
] as const;

describe.each(ON_SESSION)("%s %s", (method, url, extra) => {
  const send = (edge: TestEdge, sent: string | null, session = SESSION) => {
    // An open stream would not end.
    edge.services.updates.open = async (wanted, sink) => {
      sink.write(Buffer.from("retry: 1\n\n"));
      sink.end("finish");
      return { close() {}, wanted };
    };
    const payload = bodyOf(method, url);
    const headers = { "x-session-id": session, ...extra, ...(sent !== null && { "service-app-key": sent }) };
    return edge.send(method, url, { headers, ...(payload && { payload }) });
  };

  it("ignores keys on a session of the default App", async () => {
    for (const sent of [null, "nonsense", "to-defi"]) {
      for (const app of [null, "default"]) {
        const edge = edgeWithApps();
        await givenSession(edge, app);
        expect((await send(edge, sent)).statusCode).toBe(200);
      }
    }
  });

  const isDecision = url.startsWith("/api/actions/");

  if (isDecision) {
    it("requires the key of the session's App, and decides nothing without it", async () => {
      const edge = edgeWithApps();
      await givenSession(edge, "defi");
      expectUnauthorized(await send(edge, null));
      expect(edge.services.actions.last.decide).toBeUndefined();
    });
  } else {
    it("needs no key on a session of an App", async () => {
      const edge = edgeWithApps();
      await givenSession(edge, "defi");
      expect((await send(edge, null)).statusCode).toBe(200);
      // An empty header counts as none.
      await givenSession(edge, "defi");
      expect((await send(edge, "")).statusCode).toBe(200);
    });
  }

  it("validates a key that is sent for a session of an App", async () => {
    const edge = edgeWithApps();
    await givenSession(edge, "defi");
    expectUnauthorized(await send(edge, "nonsense"));
    expectProblem(await send(edge, "to-vault"), 403, "app_forbidden");
    for (const sent of ["to-defi", "to-both"]) {
      await givenSession(edge, "defi");
      expect((await send(edge, sent)).statusCode).toBe(200);
    }
  });

  it("requires the key if the App is configured so", async () => {
    const edge = edgeWithApps();
    await givenSession(edge, "vault");
    for (const sent of [null, "", "nonsense"]) expectUnauthorized(await send(edge, sent));
    expectProblem(await send(edge, "to-defi"), 403, "app_forbidden");
    expect((await send(edge, "to-vault")).statusCode).toBe(200);
  });

  it("is rejected on a session whose App was removed from the configuration", async () => {
    const edge = edgeWithApps();
    await givenSession(edge, "gone");
    expectUnauthorized(await send(edge, null));
    expectProblem(await send(edge, "to-defi"), 403, "app_forbidden");
  });
});

describe.each([
  ["POST", "/api/sessions", { public_key: 7 }],
  ["POST", "/api/interrupt", null],
  ["POST", `/api/actions/${ACTION.id}`, { decision: 7 }],
  ["GET", `/api/sessions/${SESSION}`, null],
  ["GET", `/api/sessions/${SESSION}/messages`, null],
  ["PATCH", `/api/sessions/${SESSION}`, { title: 7 }],
  ["DELETE", `/api/sessions/${SESSION}`, null],
] as const)("%s %s without a key", (method, url, wrong) => {
  /** Creates an edge that counts lookups of the session's App. */
  async function countingEdge(app: string) {
    const edge = edgeWithApps();
    await givenSession(edge, app);
    const { conversations } = edge.services;
    const looks: string[] = [];
    const appOf = conversations.appOf.bind(conversations);
    conversations.appOf = (id) => {
      looks.push(id);
      return appOf(id);
    };
    return { edge, looks };
  }

  it("does not look up the session's App first if no key is required", async () => {
    // A decision on a session of an App always needs a key.
    for (const app of url.startsWith("/api/actions/") ? ["default"] : ["default", "defi"]) {
      const { edge, looks } = await countingEdge(app);
      const payload = bodyOf(method, url);
      expect((await edge.send(method, url, payload && { payload })).statusCode).toBe(200);
      expect(looks).toEqual([]);
    }
  });

  if (wrong === null) return;
  it("authorizes before it validates", async () => {
    const options = { payload: wrong };
    for (const [app, status] of [
      ["default", 400],
      ["vault", 401],
    ] as const) {
      const { edge, looks } = await countingEdge(app);
      expect((await edge.send(method, url, options)).statusCode).toBe(status);
      expect(looks).toEqual([SESSION]);
    }
  });
});

describe("the order of refusals on a session of an App", () => {
  it.each([
    ["GET", "/api/state?user_state=nonsense", undefined],
    ["GET", "/api/updates?include=nonsense", undefined],
    ["PATCH", `/api/sessions/${SESSION}`, { title: 7 }],
    ["GET", `/api/sessions/${SESSION}/messages?limit=nonsense`, undefined],
    ["POST", "/api/sessions", { public_key: 7 }],
    ["POST", `/api/actions/${ACTION.id}`, { decision: 7 }],
  ] as const)("answers 401 before 400 before 403: %s %s", async (method, url, payload) => {
    const edge = edgeWithApps();
    await givenSession(edge, "vault");
    const send = (sent: string | null) =>
      edge.send(method, url, {
        headers: { accept: "text/event-stream", ...(sent !== null && { "service-app-key": sent }) },
        ...(payload && { payload }),
      });
    expectUnauthorized(await send(null));
    expect((await send("to-defi")).statusCode).toBe(400);
    expect((await send("to-vault")).statusCode).toBe(400);
  });

  it("answers 404 for an unknown session, whichever key is sent", async () => {
    const edge = edgeWithApps();
    const path = `/api/sessions/${OTHER_SESSION}`;
    for (const sent of ["nonsense", "to-defi"]) {
      expectProblem(await edge.send("GET", path, key(sent)), 404, "session_not_found");
    }
  });
});

describe("HEAD", () => {
  it.each(["/api/state", MODELS, `/api/sessions/${SESSION}`, `/api/sessions/${SESSION}/messages`])(
    "%s is authorized like GET",
    async (url) => {
      const edge = edgeWithApps();
      await givenSession(edge, "vault");
      expect((await edge.send("HEAD", url)).statusCode).toBe(401);
      expect((await edge.send("HEAD", url, key("to-defi"))).statusCode).toBe(403);
      expect((await edge.send("HEAD", url, key("to-vault"))).statusCode).toBe(200);
    },
  );
});
