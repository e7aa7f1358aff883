// Keys that are revoked and sessions that are bound to an App during a request: while the client sends its
// body, and while a response is delayed.

import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { InjectOptions } from "fastify";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { bodyOf, startAppEdges } from "../testing/app-edges.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { createSession, type TestEdge } from "../testing/edge.ts";

type Method = NonNullable<InjectOptions["method"]>;

const edges = await startAppEdges();
const { testEdge, sending } = edges;
/** A key that was revoked by the test before is replaced. */
beforeEach(() => Promise.all([edges.renew("to-vault"), edges.renew("to-both")]));
afterEach(() => vi.restoreAllMocks());

/** Binds the edge's session to the App `vault`, waiting for a decision. Returns the id of the action. */
async function comesToVault({ session }: TestEdge): Promise<string> {
  const { pending_actions } = await createSession(edges, session, "vault", "call look");
  return pending_actions[0]!.id;
}

/** Deletes the session, and begins a new incarnation. */
async function replace({ session }: TestEdge): Promise<void> {
  await edges.service.threads.remove(session, null);
  await edges.service.threads.create(session, null, ANONYMOUS, null);
}

const titleOf = async ({ session }: TestEdge): Promise<string> =>
  (await edges.service.threads.get(session, null)).title;

/** Returns a body that is sent on request and reports when the server waits for it. */
function slowBody(value: unknown) {
  const { promise: waitedFor, resolve } = Promise.withResolvers<void>();
  const text = JSON.stringify(value);
  const stream = new Readable({ read: () => resolve() });
  const finish = (): void => {
    stream.push(text);
    stream.push(null);
  };
  return { stream, waitedFor, finish };
}

async function sendSlowly(
  edge: TestEdge,
  request: { readonly method: Method; readonly url: string; readonly body: unknown },
  key: string | null,
  meanwhile: () => unknown,
) {
  const body = slowBody(request.body);
  const answer = edge.send(request.method, request.url, {
    payload: body.stream,
    headers: {
      "content-type": "application/json",
      "transfer-encoding": "chunked",
      ...(key !== null && sending(key).headers),
    },
  });
  await body.waitedFor;
  await meanwhile();
  body.finish();
  return await answer;
}

/** Expected refusals for a session that was bound to `vault` during the request. */
const REFUSED = [
  [null, 401, "app_key_invalid"],
  ["to-defi", 403, "app_forbidden"],
] as const;

/** Every operation that reads a body, required or ignored. */
const OPERATIONS: readonly (readonly [Method, string, unknown])[] = [
  ["POST", "/api/sessions", {}],
  ["POST", "/api/interrupt", {}],
  ["POST", "/api/actions/{action}", { decision: "deny" }],
  ["PATCH", "/api/sessions/{id}", { title: "Mine" }],
  ["DELETE", "/api/sessions/{id}", {}],
  ["POST", "/api/control/model?rig=demo/assistant", {}],
];
const FOR_APP: readonly (readonly [Method, string, unknown])[] = [
  ["POST", "/api/chat?app=vault", { message: "hello" }],
  ["POST", "/api/control/model?rig=demo/assistant&app=vault", {}],
  ["PUT", "/api/secrets?app=vault&client_id=somebody", { ALCHEMY_KEY: "x" }],
  ["DELETE", "/api/secrets?app=vault&client_id=somebody", {}],
];

describe.each(OPERATIONS)("%s %s with a slow body", (method, path, body) => {
  const requestOn = (action: string) => ({ method, url: path.replace("{action}", action), body });

  it("is rejected if the session is bound to an App that the caller may not use", async () => {
    for (const [key, status, code] of REFUSED) {
      const edge = testEdge();
      const answer = await sendSlowly(edge, requestOn(randomUUID()), key, () => comesToVault(edge));
      expectProblem(answer, status, code);
      expect(await titleOf(edge)).not.toBe("Mine");
    }
  });

  it("is rejected if its key is revoked in the meantime", async () => {
    const edge = testEdge();
    const request = requestOn(await comesToVault(edge));
    const answer = await sendSlowly(edge, request, "to-vault", () => edges.end("to-vault"));
    expectProblem(answer, 401, "app_key_invalid");
    expect(await titleOf(edge)).not.toBe("Mine");
  });

  it("succeeds if key and session stay the same", async () => {
    const edge = testEdge();
    const request = requestOn(await comesToVault(edge));
    const answer = await sendSlowly(edge, request, "to-vault", () => undefined);
    expect(answer.statusCode).toBe(200);
  });
});

describe.each(FOR_APP)("%s %s with a slow body", (method, url, body) => {
  it("is rejected if its key is revoked in the meantime", async () => {
    const edge = testEdge();
    const answer = await sendSlowly(edge, { method, url, body }, "to-vault", () => edges.end("to-vault"));
    expectProblem(answer, 401, "app_key_invalid");
    expect(await edges.exists(edge.session)).toBe(false);
    expect(await edge.services.secrets.names("vault", "somebody")).toEqual([]);
  });
});

/**
 * Sends a request with `Prefer: wait`. Its response is held after the service has returned it, until
 * `meanwhile` is done.
 */
async function wait(
  edge: TestEdge,
  [method, path]: readonly [Method, string],
  key: string | null,
  meanwhile: () => unknown,
) {
  const { conversations } = edges.service;
  const asked = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const name = method === "GET" ? "state" : "chat";
  const work = conversations[name].bind(conversations) as (...parameters: unknown[]) => Promise<never>;
  vi.spyOn(conversations, name).mockImplementationOnce(async (...parameters: unknown[]) => {
    const view = await work(...parameters);
    asked.resolve();
    await over.promise;
    return view;
  });
  const headers = { prefer: "wait=30", ...(key !== null && sending(key).headers) };
  const answer = edge.send(method, path, { headers });
  await asked.promise;
  await meanwhile();
  over.resolve();
  return await answer;
}

describe.each([
  ["GET", "/api/state"],
  ["POST", "/api/chat?message=hello"],
] as const)("%s %s after a wait", (method, url) => {
  const path = method === "POST" ? `${url}&app=vault` : url;

  it("is rejected if the session is now one of an App that the caller may not use", async () => {
    for (const [key, status, code] of REFUSED) {
      const edge = testEdge();
      await createSession(edges, edge.session);
      const answer = await wait(edge, [method, url], key, async () => {
        await replace(edge);
        await edges.service.say(edge.session, "hello", { app: "vault" });
      });
      expectProblem(answer, status, code);
    }
  });

  it("is rejected if the key is revoked in the meantime", async () => {
    const edge = testEdge();
    await createSession(edges, edge.session, "vault");
    const answer = await wait(edge, [method, path], "to-vault", () => edges.end("to-vault"));
    expectProblem(answer, 401, "app_key_invalid");
  });

  it("succeeds if key and session stay the same", async () => {
    const edge = testEdge();
    await createSession(edges, edge.session, "vault");
    const answer = await wait(edge, [method, path], "to-vault", () => undefined);
    expect([answer.statusCode, answer.headers["preference-applied"]]).toEqual([200, "wait=30"]);
  });
});

describe("a chat that names its App and waits while its session is deleted", () => {
  const chat = ["POST", "/api/chat?message=hello&app=vault"] as const;

  it("is rejected if the App's key is revoked too", async () => {
    const edge = testEdge();
    await createSession(edges, edge.session, "vault");
    const answer = await wait(edge, chat, "to-vault", async () => {
      await replace(edge);
      await edges.end("to-vault");
    });
    expectProblem(answer, 401, "app_key_invalid");
  });

  it("succeeds with the App's key", async () => {
    const edge = testEdge();
    await createSession(edges, edge.session, "vault");
    expect((await wait(edge, chat, "to-vault", () => replace(edge))).statusCode).toBe(200);
  });
});

describe("a chat with a slow body that names the App", () => {
  it("is accepted with its key, and rejected if the key was revoked before the body arrived", async () => {
    const request = { method: "POST", url: "/api/chat", body: { message: "hello", app: "vault" } } as const;
    const edge = testEdge();
    expect((await sendSlowly(edge, request, "to-vault", () => undefined)).statusCode).toBe(200);
    const answer = await sendSlowly(edge, request, "to-vault", () => edges.end("to-vault"));
    expectProblem(answer, 401, "app_key_invalid");
  });
});

describe.each([
  ["GET", "/api/sessions/{id}", "sessions.find"],
  ["GET", "/api/sessions/{id}/messages", "sessions.messagePage"],
  ["PATCH", "/api/sessions/{id}", "edit"],
  ["DELETE", "/api/sessions/{id}", "delete"],
] as const)("%s %s on a session that joins an App during the request", (method, url, kind) => {
  /** Runs each of the functions before a call of the store of this kind. */
  function beforeCalls(...works: (() => Promise<unknown>)[]): void {
    edges.intercept((called) => {
      const work = called === kind ? works.shift() : undefined;
      return work === undefined ? undefined : work().then(() => undefined);
    });
  }
  const send = (edge: TestEdge, sent: string | null) => {
    const payload = bodyOf(method, url);
    return edge.send(method, url, { ...(sent !== null && sending(sent)), ...(payload && { payload }) });
  };
  const joins = (edge: TestEdge, app: string) => () => edges.service.say(edge.session, "hello", { app });
  /** Returns an edge whose session has no App. */
  const givenEdge = async () => {
    const edge = testEdge();
    await createSession(edges, edge.session);
    return edge;
  };

  it("is rejected without that App's key, and does nothing", async () => {
    for (const [sent, refused] of [
      [null, 401],
      ["nonsense", 401],
      ["to-defi", 403],
    ] as const) {
      const edge = await givenEdge();
      beforeCalls(joins(edge, "vault"));
      expect((await send(edge, sent)).statusCode).toBe(refused);
      expect(await titleOf(edge)).not.toBe("Renamed");
    }
  });

  it("succeeds with its key, and if the App requires none", async () => {
    for (const [app, sent] of [
      ["vault", "to-vault"],
      ["defi", null],
      ["default", "nonsense"],
    ] as const) {
      const edge = await givenEdge();
      beforeCalls(joins(edge, app));
      expect((await send(edge, sent)).statusCode).toBe(200);
    }
  });

  it("is rejected if a key of both Apps is revoked in the meantime", async () => {
    const edge = testEdge();
    await createSession(edges, edge.session, "defi");
    beforeCalls(async () => {
      await replace(edge);
      await joins(edge, "vault")();
      await edges.end("to-both");
    });
    expectProblem(await send(edge, "to-both"), 401, "app_key_invalid");
  });

  it("is rejected if the App is a different one at each attempt", async () => {
    const edge = await givenEdge();
    beforeCalls(joins(edge, "defi"), async () => {
      await replace(edge);
      await joins(edge, "vault")();
    });
    const answer = await send(edge, "to-both");
    expectProblem(answer, 503, "app_changed");
    expect(answer.headers["retry-after"]).toBe("1");
    expect(await titleOf(edge)).not.toBe("Renamed");
  });
});
