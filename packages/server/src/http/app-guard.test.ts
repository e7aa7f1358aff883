// Requests that name an App, and requests whose key opens Apps.

import { describe, expect, it } from "vitest";
import { Unavailable } from "../core/errors.ts";
import { testEdge, WALLET, type TestEdge } from "./testing/edge.ts";
import { edgeWithApps, expectUnauthorized, givenSession, key } from "./testing/edge-with-apps.ts";
import { expectProblem } from "./testing/expect-problem.ts";

const CHAT = "/api/chat?message=hello";
const SET = "/api/control/model?rig=demo/assistant";
const MODELS = "/api/control/models";
const APPS = "/api/control/apps";
const LIST = `/api/sessions?public_key=${WALLET}`;

describe.each([
  ["chat", "POST", (app: string) => `${CHAT}&app=${app}`],
  ["set model", "POST", (app: string) => `${SET}&app=${app}`],
  ["list models", "GET", (app: string) => `${MODELS}?app=${app}`],
] as const)("%s for an App", (_name, method, url) => {
  it("answers 401 without a valid key, also for an unknown App, and creates nothing", async () => {
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

  it("answers 403 for a key of other Apps, also for an unknown App, and creates nothing", async () => {
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

describe("set model without an App", () => {
  it("requires the key of the session's App before it validates the request", async () => {
    const edge = edgeWithApps();
    await givenSession(edge, "defi");
    expectUnauthorized(await edge.send("POST", SET));
    expectUnauthorized(await edge.send("POST", "/api/control/model?rig="));
    expectUnauthorized(await edge.send("POST", SET, key("nonsense")));
    expectProblem(await edge.send("POST", SET, key("to-vault")), 403, "app_forbidden");
    expect((await edge.send("POST", SET, key("to-defi"))).statusCode).toBe(200);
  });

  it.each([
    ["to-defi", "defi"],
    ["to-both", "default"],
    ["nonsense", "default"],
  ])("takes the key %s, and moves a session without an App to %s", async (sent, app) => {
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

  it("determine which threads are listed", async () => {
    const edge = edgeWithApps();
    for (const [sent, opened] of [
      [null, []],
      ["to-defi", ["defi"]],
      ["to-both", ["defi", "vault"]],
    ] as const) {
      await edge.send("GET", LIST, sent === null ? {} : key(sent));
      expect(edge.services.conversations.last.threads).toMatchObject({
        access: { apps: ["default", ...opened], user: null },
      });
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
  it("counts per key if a key authorized the chat, and per address otherwise", async () => {
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
