// Requests that name an App, and requests whose key opens Apps.

import { randomUUID } from "node:crypto";
import type { InjectOptions } from "fastify";
import { describe, expect, it, vi } from "vitest";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import { newWallet } from "../../../test/black-box/client.ts";
import { startAppEdges } from "../testing/app-edges.ts";
import { createSession, expectUnauthorized, type TestEdge, WALLET } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const edges = await startAppEdges();
const { testEdge, sending: key } = edges;

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
    const edge = testEdge();
    const bodies = new Set<string>();
    for (const app of ["defi", "nobody"]) {
      for (const options of [{}, key(""), key("nonsense"), key("to-defi, to-defi")]) {
        const answer = await edge.send(method, url(app), options);
        expectUnauthorized(answer);
        bodies.add(answer.body.replace(/"request_id":"[^"]*"/, ""));
      }
    }
    expect(bodies.size).toBe(1);
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it("answers 403 for a key of other Apps, also for an unknown App, and creates nothing", async () => {
    const edge = testEdge();
    for (const app of ["defi", "nobody"]) {
      expectProblem(await edge.send(method, url(app), key("to-vault")), 403, "app_forbidden");
    }
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it("succeeds with a key of the App", async () => {
    const edge = testEdge();
    for (const good of ["to-defi", "to-both"]) {
      expect((await edge.send(method, url("defi"), key(good))).statusCode).toBe(200);
    }
  });

  it("ignores a key for the default App", async () => {
    const edge = testEdge();
    const check = vi.spyOn(edges.service.keys, "check");
    expect((await edge.send(method, url("default"), key("nonsense"))).statusCode).toBe(200);
    if (method === "POST" && url("").startsWith(CHAT)) expect(check).not.toHaveBeenCalled();
  });

  it("checks in the order 401, 400, 403", async () => {
    const edge = testEdge();
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
    const edge = testEdge();
    const wanted = { app: "defi", message: "hello" };
    expectUnauthorized(await chat(edge, wanted));
    expectUnauthorized(await chat(edge, { app: "defi", message: 7 }, key("nonsense").headers));
    expectProblem(await chat(edge, wanted, key("to-vault").headers), 403, "app_forbidden");
    expectProblem(await chat(edge, { app: "defi" }, key("to-vault").headers), 400, "parameter_missing");
    expect(await edges.exists(edge.session)).toBe(false);
    expect((await chat(edge, wanted, key("to-defi").headers)).statusCode).toBe(200);
    expect(await edges.service.snapshot(edge.session)).toMatchObject({ app: "defi" });
  });

  it("is rejected before its body is read if the query names the App", async () => {
    const payload = "{".repeat(100);
    const headers = { "content-type": "application/json" };
    expectUnauthorized(await testEdge().send("POST", "/api/chat?app=defi", { payload, headers }));
  });
});

describe("set model without an App", () => {
  it("requires the key of the session's App before it validates the request", async () => {
    const edge = testEdge();
    await createSession(edges, edge.session, "defi");
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
  ])("takes the key %s, and chooses a model of %s for a session without an App", async (sent, app) => {
    const edge = testEdge();
    expect((await edge.send("POST", SET, key(sent))).statusCode).toBe(200);
    expect(await edges.service.store.sessions.find(edge.session)).toMatchObject({ modelApp: app });
  });
});

describe("the Apps of a key", () => {
  it("are listed beside the default App; an invalid key gives 401 before anything is created", async () => {
    const namesFor = async (options: InjectOptions = {}) =>
      (await testEdge().send("GET", APPS, options)).json<{ name: string }[]>().map(({ name }) => name);
    expect(await namesFor()).toEqual(["default"]);
    expect(await namesFor(key("to-both"))).toEqual(["default", "defi", "vault"]);
    const edge = testEdge();
    for (const url of [APPS, LIST]) expectUnauthorized(await edge.send("GET", url, key("nonsense")));
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it("determine which threads are listed", async () => {
    const publicKey = newWallet();
    for (const app of ["default", "defi", "vault"])
      await edges.service.say(randomUUID(), "hello", { app, publicKey });
    for (const [sent, opened] of [
      [null, []],
      ["to-defi", ["defi"]],
      ["to-both", ["defi", "vault"]],
    ] as const) {
      const url = `/api/sessions?public_key=${publicKey}`;
      const answer = await testEdge().send("GET", url, sent === null ? {} : key(sent));
      const apps = answer.json<{ app: string }[]>().map(({ app }) => app);
      expect(apps.toSorted()).toEqual(["default", ...opened]);
    }
  });
});

describe("a failing store", () => {
  it("gives 503 to requests that need a key, and authorizes none", async () => {
    const edge = testEdge();
    await edges.renew("to-defi");
    edges.intercept((method) => {
      if (method !== "keys.find") return undefined;
      throw new Unavailable(503, "store_unavailable", "The store is away.", 1);
    });
    expectProblem(await edge.send("POST", `${CHAT}&app=defi`, key("to-defi")), 503, "store_unavailable");
    expect((await edge.send("POST", CHAT, key("to-defi"))).statusCode).toBe(200);
  });
});

describe("the rate limit of chats", () => {
  it("counts per key if a key authorized the chat, and per address otherwise", async () => {
    const { send } = testEdge({ loopback: false, rateLimits: { chatsPerMinute: 2 } });
    const [one, two] = [await edges.key(["defi"]), await edges.key(["defi"])];
    const session = randomUUID();
    const chat = (sent: string, app: string, remoteAddress = "203.0.113.1") => {
      const headers = { "service-app-key": sent, "x-session-id": app === "defi" ? session : randomUUID() };
      return send("POST", `${CHAT}&app=${app}`, { headers, remoteAddress });
    };
    for (const address of ["203.0.113.1", "203.0.113.2"]) {
      expect((await chat(one, "defi", address)).statusCode).toBe(200);
    }
    expectProblem(await chat(one, "defi", "203.0.113.3"), 429, "rate_limited");
    for (let count = 0; count < 2; count += 1) expect((await chat(two, "defi")).statusCode).toBe(200);
    expectProblem(await chat(two, "defi"), 429, "rate_limited");
    // The default App ignores keys, so a key does not raise the limit there.
    expect((await chat(one, "default")).statusCode).toBe(200);
    expect((await chat(two, "default")).statusCode).toBe(200);
    expectProblem(await chat("three", "default"), 429, "rate_limited");
  });
});
