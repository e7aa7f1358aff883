// Keys that are revoked and sessions that join an App during a request: while the client sends a body, and
// while an answer waits.

import { Readable } from "node:stream";
import type { InjectOptions } from "fastify";
import { describe, expect, it } from "vitest";
import type { SnapshotView } from "../core/ports/driving/services.ts";
import { SESSION, type TestEdge } from "./testing/edge.ts";
import { bodyOf, edgeWithApps, givenSession, key as sending } from "./testing/edge-with-apps.ts";
import { ACTION } from "./testing/in-memory-actions.ts";
import { expectProblem } from "./testing/expect-problem.ts";
import { ANONYMOUS } from "../core/session-access.ts";

type Method = NonNullable<InjectOptions["method"]>;

/** Binds SESSION to the App `vault`. */
const comesToVault = (edge: TestEdge) => givenSession(edge, "vault");

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
      ...(key !== null && { "service-app-key": key }),
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
  ["POST", `/api/actions/${ACTION.id}`, { decision: "deny" }],
  ["PATCH", `/api/sessions/${SESSION}`, { title: "Mine" }],
  ["DELETE", `/api/sessions/${SESSION}`, {}],
  ["POST", "/api/control/model?rig=demo/assistant", {}],
];
const FOR_APP: readonly (readonly [Method, string, unknown])[] = [
  ["POST", "/api/chat?app=vault", { message: "hello" }],
  ["POST", "/api/control/model?rig=demo/assistant&app=vault", {}],
  ["PUT", "/api/secrets?app=vault&client_id=somebody", { ALCHEMY_KEY: "x" }],
  ["DELETE", "/api/secrets?app=vault&client_id=somebody", {}],
];

describe.each(OPERATIONS)("%s %s with a slow body", (method, url, body) => {
  it("is rejected if the session is bound to an App that the caller may not use", async () => {
    for (const [key, status, code] of REFUSED) {
      const edge = edgeWithApps();
      const answer = await sendSlowly(edge, { method, url, body }, key, () => comesToVault(edge));
      expectProblem(answer, status, code);
      expect(edge.services.conversations.sessions.get(SESSION)?.thread.title).toBe("New Chat");
    }
  });

  it("is rejected if its key is revoked in the meantime", async () => {
    const edge = edgeWithApps();
    await comesToVault(edge);
    const revoke = () => edge.services.keys.grants.delete("to-vault");
    expectProblem(await sendSlowly(edge, { method, url, body }, "to-vault", revoke), 401, "app_key_invalid");
    expect(edge.services.conversations.sessions.get(SESSION)?.thread.title).toBe("New Chat");
  });

  it("succeeds if key and session stay the same", async () => {
    const edge = edgeWithApps();
    await comesToVault(edge);
    const answer = await sendSlowly(edge, { method, url, body }, "to-vault", () => undefined);
    expect(answer.statusCode).toBe(200);
  });
});

describe.each(FOR_APP)("%s %s with a slow body", (method, url, body) => {
  it("is rejected if its key is revoked in the meantime", async () => {
    const edge = edgeWithApps();
    const revoke = () => edge.services.keys.grants.delete("to-vault");
    expectProblem(await sendSlowly(edge, { method, url, body }, "to-vault", revoke), 401, "app_key_invalid");
    expect(edge.services.conversations.sessions.size).toBe(0);
  });
});

/** Sends a waiting request, and lets it finish after `meanwhile`. */
async function wait(
  edge: TestEdge,
  [method, path]: readonly [Method, string],
  key: string | null,
  meanwhile: () => unknown,
) {
  const { conversations } = edge.services;
  await conversations.ensure(SESSION, ANONYMOUS, null);
  const asked = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const view = (): Promise<SnapshotView> => conversations.interrupt(SESSION, ANONYMOUS, null);
  conversations.state = conversations.chat = async () => {
    asked.resolve();
    await over.promise;
    return await view();
  };
  const headers = { prefer: "wait=30", ...(key !== null && { "service-app-key": key }) };
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
  it("is rejected if the session is bound to an App that the caller may not use", async () => {
    for (const [key, status, code] of REFUSED) {
      const edge = edgeWithApps();
      expectProblem(await wait(edge, [method, url], key, () => comesToVault(edge)), status, code);
    }
  });

  it("is rejected if the key is revoked in the meantime", async () => {
    const edge = edgeWithApps();
    await comesToVault(edge);
    const path = method === "POST" ? `${url}&app=vault` : url;
    const revoke = () => edge.services.keys.grants.delete("to-vault");
    expectProblem(await wait(edge, [method, path], "to-vault", revoke), 401, "app_key_invalid");
  });

  it("succeeds if key and session stay the same", async () => {
    const edge = edgeWithApps();
    await comesToVault(edge);
    const path = method === "POST" ? `${url}&app=vault` : url;
    const answer = await wait(edge, [method, path], "to-vault", () => undefined);
    expect([answer.statusCode, answer.headers["preference-applied"]]).toEqual([200, "wait=30"]);
  });
});

describe("a chat that names its App and waits while its session is deleted", () => {
  const chat = ["POST", "/api/chat?message=hello&app=vault"] as const;
  /** Deletes the session, and begins another one with its id. */
  const replaced = (edge: TestEdge) => givenSession(edge, null);

  it("is rejected if the App's key is revoked too", async () => {
    const edge = edgeWithApps();
    await comesToVault(edge);
    const answer = await wait(edge, chat, "to-vault", async () => {
      await replaced(edge);
      edge.services.keys.grants.delete("to-vault");
    });
    expectProblem(answer, 401, "app_key_invalid");
  });

  it("succeeds with the App's key", async () => {
    const edge = edgeWithApps();
    await comesToVault(edge);
    expect((await wait(edge, chat, "to-vault", () => replaced(edge))).statusCode).toBe(200);
  });
});

describe("a chat with a slow body that names the App", () => {
  it("is accepted with its key, and rejected if the key was revoked before the body arrived", async () => {
    const request = { method: "POST", url: "/api/chat", body: { message: "hello", app: "vault" } } as const;
    const edge = edgeWithApps();
    expect((await sendSlowly(edge, request, "to-vault", () => undefined)).statusCode).toBe(200);
    const revoke = () => edge.services.keys.grants.delete("to-vault");
    expectProblem(await sendSlowly(edge, request, "to-vault", revoke), 401, "app_key_invalid");
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
    const headers = sent === null ? {} : sending(sent).headers;
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

  it("is rejected if a key of both Apps is revoked in the meantime", async () => {
    const edge = edgeWithApps();
    await givenSession(edge, "defi");
    edge.services.conversations.beforeWork = async () => {
      await givenSession(edge, "vault");
      edge.services.keys.grants.delete("to-both");
    };
    const payload = bodyOf(method, url);
    const { headers } = sending("to-both");
    const answer = await edge.send(method, url, { headers, ...(payload && { payload }) });
    expectProblem(answer, 401, "app_key_invalid");
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
