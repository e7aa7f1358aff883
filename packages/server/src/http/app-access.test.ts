import type { LightMyRequestResponse } from "fastify";
import { describe, expect, it } from "vitest";
import { Unavailable } from "../core/errors.ts";
import { OTHER_SESSION, SESSION, testEdge, WALLET, type TestEdge } from "./testing/edge.ts";
import { ACTION } from "./testing/in-memory-actions.ts";
import { expectProblem } from "./testing/expect-problem.ts";

/**
 * Creates an edge with the Apps `defi` (key `to-defi`), `vault` that requires its key for everything
 * (`to-vault`), and a key for both.
 */
function edgeWithApps(): TestEdge {
  const edge = testEdge();
  edge.services.apps.requireKey.set("defi", "chat").set("vault", "all");
  edge.services.keys.grants
    .set("to-defi", ["defi"])
    .set("to-vault", ["vault"])
    .set("to-both", ["defi", "vault"]);
  return edge;
}

/** Moves SESSION to the App. */
async function givenSession(edge: TestEdge, app: string | null): Promise<void> {
  await edge.services.conversations.ensure(SESSION, null);
  edge.services.conversations.sessions.get(SESSION)!.app = app;
}

const key = (text: string) => ({ headers: { "service-app-key": text } });
const CHAT = "/api/chat?message=hello";
const SET = "/api/control/model?rig=demo/assistant";
const MODELS = "/api/control/models";
const APPS = "/api/control/apps";
const LIST = `/api/sessions?public_key=${WALLET}`;

const expectUnauthorized = (answer: LightMyRequestResponse): void => {
  expectProblem(answer, 401, "app_key_invalid");
  expect(answer.headers["www-authenticate"]).toBe('ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"');
};

describe.each([
  ["chat", "POST", (app: string) => `${CHAT}&app=${app}`],
  ["set model", "POST", (app: string) => `${SET}&app=${app}`],
  ["list models", "GET", (app: string) => `${MODELS}?app=${app}`],
] as const)("%s for an App", (_name, method, url) => {
  it("gives 401 without a valid key, also for an unknown App, and creates nothing", async () => {
    const edge = edgeWithApps();
    const bodies = new Set<string>();
    for (const app of ["defi", "nobody"]) {
      for (const options of [{}, key(""), key("nonsense"), key("to-defi, to-defi")]) {
        const answer = await edge.send(method, url(app), options);
        expectUnauthorized(answer);
        bodies.add(answer.body.replace(/"request_id":"[^"]*"/, ""));
      }
    }
    expect(bodies.size).toBe(1);
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("gives 403 for a key of other Apps, also for an unknown App, and creates nothing", async () => {
    const edge = edgeWithApps();
    for (const app of ["defi", "nobody"]) {
      expectProblem(await edge.send(method, url(app), key("to-vault")), 403, "app_forbidden");
    }
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("succeeds with a key of the App", async () => {
    const edge = edgeWithApps();
    for (const good of ["to-defi", "to-both"]) {
      expect((await edge.send(method, url("defi"), key(good))).statusCode).toBe(200);
    }
  });

  it("ignores a key for the default App", async () => {
    const edge = edgeWithApps();
    expect((await edge.send(method, url("default"), key("nonsense"))).statusCode).toBe(200);
    if (method === "POST" && url("").startsWith(CHAT)) expect(edge.services.keys.checked).toEqual([]);
  });

  it("checks in the order 401, 400, 403", async () => {
    const edge = edgeWithApps();
    const broken = { "x-session-id": "nonsense" };
    expectUnauthorized(await edge.send(method, url("defi"), { headers: broken }));
    const headers = { ...broken, ...key("to-vault").headers };
    expectProblem(await edge.send(method, url("defi"), { headers }), 400, "session_id_invalid");
    expectProblem(await edge.send(method, url("x".repeat(65)), key("to-vault")), 400, "parameter_invalid");
  });
});

describe("chat with the App in its body", () => {
  const chat = (edge: TestEdge, payload: object, headers: Record<string, string> = {}) =>
    edge.send("POST", "/api/chat", { payload, headers });

  it("is authorized like one in the query", async () => {
    const edge = edgeWithApps();
    const wanted = { app: "defi", message: "hello" };
    expectUnauthorized(await chat(edge, wanted));
    expectUnauthorized(await chat(edge, { app: "defi", message: 7 }, { "service-app-key": "nonsense" }));
    expectProblem(await chat(edge, wanted, { "service-app-key": "to-vault" }), 403, "app_forbidden");
    expectProblem(
      await chat(edge, { app: "defi" }, { "service-app-key": "to-vault" }),
      400,
      "parameter_missing",
    );
    expect(edge.services.conversations.sessions.size).toBe(0);
    expect((await chat(edge, wanted, { "service-app-key": "to-defi" })).statusCode).toBe(200);
    expect(edge.services.conversations.last.chat).toMatchObject({ app: "defi" });
  });

  it("is rejected before its body is read if the query names the App", async () => {
    const payload = "{".repeat(100);
    const headers = { "content-type": "application/json" };
    expectUnauthorized(await edgeWithApps().send("POST", "/api/chat?app=defi", { payload, headers }));
  });
});

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

function bodyOf(method: string, url: string): object | undefined {
  if (method === "PATCH") return { title: "Renamed" };
  return url.startsWith("/api/actions/") ? { decision: "deny" } : undefined;
}

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
  ["GET", `/api/sessions/${SESSION}`],
  ["GET", `/api/sessions/${SESSION}/messages`],
  ["PATCH", `/api/sessions/${SESSION}`],
  ["DELETE", `/api/sessions/${SESSION}`],
] as const)("%s %s on a session that joins an App during the request", (method, url) => {
  const send = async (apps: readonly (string | null)[], sent: string | null) => {
    const edge = edgeWithApps();
    const left = [...apps];
    edge.services.conversations.beforeWork = async () => {
      const app = left.shift();
      if (app !== undefined) await givenSession(edge, app);
    };
    const headers = sent === null ? {} : key(sent).headers;
    const payload = bodyOf(method, url);
    const answer = await edge.send(method, url, { headers, ...(payload && { payload }) });
    return { answer, kept: edge.services.conversations.sessions.get(SESSION)?.thread.title };
  };

  it("is rejected without that App's key, and does nothing", async () => {
    for (const [sent, refused] of [
      [null, 401],
      ["nonsense", 401],
      ["to-defi", 403],
    ] as const) {
      const { answer, kept } = await send(["vault"], sent);
      expect(answer.statusCode).toBe(refused);
      expect(kept).toBe("New Chat");
    }
  });

  it("succeeds with its key, and if the App requires none", async () => {
    expect((await send(["vault"], "to-vault")).answer.statusCode).toBe(200);
    expect((await send(["defi"], null)).answer.statusCode).toBe(200);
    expect((await send([null], "nonsense")).answer.statusCode).toBe(200);
  });

  it("is rejected if the App is a different one at each attempt", async () => {
    const { answer, kept } = await send(["defi", "vault"], "to-both");
    expectProblem(answer, 503, "app_changed");
    expect(answer.headers["retry-after"]).toBe("1");
    expect(kept).toBe("New Chat");
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
  ] as const)("is 401, 400, 403: %s %s", async (method, url, payload) => {
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

  it("puts 404 last: an unknown session belongs to no App", async () => {
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

describe("set model without an App", () => {
  it("requires the key of the session's App", async () => {
    const edge = edgeWithApps();
    await givenSession(edge, "defi");
    expectUnauthorized(await edge.send("POST", SET));
    expectUnauthorized(await edge.send("POST", SET, key("nonsense")));
    expectProblem(await edge.send("POST", SET, key("to-vault")), 403, "app_forbidden");
    expect((await edge.send("POST", SET, key("to-defi"))).statusCode).toBe(200);
  });

  it.each([
    ["to-defi", "defi"],
    ["to-both", "default"],
    ["nonsense", "default"],
  ])("with the key %s moves a session without an App to %s", async (sent, app) => {
    const edge = edgeWithApps();
    expect((await edge.send("POST", SET, key(sent))).statusCode).toBe(200);
    expect(edge.services.conversations.last.setModel).toMatchObject({ app });
  });
});

describe("the Apps of a key", () => {
  it("are listed beside the default App; an invalid key gives 401 before anything is created", async () => {
    const edge = edgeWithApps();
    expect((await edge.send("GET", APPS)).json()).toEqual([{ name: "default" }]);
    const names = (await edge.send("GET", APPS, key("to-both"))).json();
    expect(names).toEqual([{ name: "default" }, { name: "defi" }, { name: "vault" }]);
    edge.services.conversations.sessions.clear();
    for (const url of [APPS, LIST]) expectUnauthorized(await edge.send("GET", url, key("nonsense")));
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("determine whose threads are listed", async () => {
    const edge = edgeWithApps();
    for (const [sent, opened] of [
      [null, []],
      ["to-defi", ["defi"]],
      ["to-both", ["defi", "vault"]],
    ] as const) {
      await edge.send("GET", LIST, sent === null ? {} : key(sent));
      expect(edge.services.conversations.last.threads).toMatchObject({ opened });
    }
  });
});

describe("a failing store", () => {
  it("gives 503 to requests that need a key, and authorizes none", async () => {
    const edge = edgeWithApps();
    edge.services.keys.check = () =>
      Promise.reject(new Unavailable(503, "store_unavailable", "The store is away.", 1));
    expectProblem(await edge.send("POST", `${CHAT}&app=defi`, key("to-defi")), 503, "store_unavailable");
    expect((await edge.send("POST", CHAT, key("to-defi"))).statusCode).toBe(200);
  });
});

describe("the rate limit of chats", () => {
  it("counts per key if one authorized the chat, else per address", async () => {
    const edge = testEdge({
      loopback: false,
      rateLimits: { chatsPerMinute: 2, newSessionsPerMinute: 100, streamsPerAddress: 10 },
    });
    edge.services.apps.requireKey.set("defi", "chat");
    edge.services.keys.grants.set("one", ["defi"]).set("two", ["defi"]);
    const chat = (sent: string, app: string, address = "203.0.113.1") =>
      edge.send("POST", `${CHAT}&app=${app}`, { ...key(sent), remoteAddress: address });
    for (const address of ["203.0.113.1", "203.0.113.2"]) {
      expect((await chat("one", "defi", address)).statusCode).toBe(200);
    }
    expectProblem(await chat("one", "defi", "203.0.113.3"), 429, "rate_limited");
    for (const name of ["two", "two"]) expect((await chat(name, "defi")).statusCode).toBe(200);
    expectProblem(await chat("two", "defi"), 429, "rate_limited");
    // The default App ignores keys, so a key does not raise the limit there.
    expect((await chat("one", "default")).statusCode).toBe(200);
    expect((await chat("two", "default")).statusCode).toBe(200);
    expectProblem(await chat("three", "default"), 429, "rate_limited");
  });
});
