// Apps are isolated: every kind of caller calls every operation on a session of each App, and no response may
// contain texts of an App that the caller has no access to. The statuses are recorded in matrix.md; update it
// with `npx vitest run packages/server/test/isolation -u`.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import agUi from "@colloquy/ag-ui";
import aomi from "@colloquy/aomi";
import mcpServer from "@colloquy/mcp-server";
import openai from "@colloquy/openai";
import type { RouteAccess } from "../../src/http/access/route-access.ts";
import { startEdges } from "../../src/http/testing/edge.ts";
import { newWallet, send, type Call } from "../black-box/client.ts";
import {
  DOCUMENT_ROUTES,
  OPERATIONS as OWN_OPERATIONS,
  expectedStatus,
  PAGE_ROUTES,
  PLUGIN_OPERATIONS,
  type ClassifiedOperation,
  type OperationClass,
  type Target,
} from "./classified-operations.ts";
import {
  ADMIN_KEY,
  APPS,
  CALLERS,
  startIsolationService,
  type AppName,
  type Caller,
  type IsolationService,
} from "./isolation-service.ts";
import { echoProtocol } from "./echo-protocol.ts";
import { renderMatrix, routesIn, type Row } from "./matrix.ts";
import { sendOperation, type Answer } from "./sent-operation.ts";

const { testEdge } = await startEdges();

const OPERATIONS: Readonly<Record<string, ClassifiedOperation>> = { ...OWN_OPERATIONS, ...PLUGIN_OPERATIONS };

const cells = APPS.flatMap((app) =>
  Object.keys(OPERATIONS).flatMap((name) => CALLERS.map((caller) => ({ app, name, caller }))),
);

let service: IsolationService;
const rows = new Map<string, Row>();
/**
 * All responses to callers with the App's own key, which must contain its canaries; otherwise this test
 * proves nothing.
 */
const answersToOwnKey: Record<AppName, string> = { chatty: "", closed: "" };
beforeAll(async () => {
  service = await startIsolationService();
});
afterAll(() => service.close());

/**
 * Returns the App's conversation with canaries. Returns a new conversation without canaries for another
 * person, and for an operation that deletes it.
 */
async function targetFor(operation: ClassifiedOperation, caller: Caller, app: AppName): Promise<Target> {
  const { rig, slot, conversation } = service.apps[app];
  const isOther = caller === "other person";
  const isRemoved = operation.removes === true && expectedStatus(operation, caller, app) === 200;
  return {
    app,
    rig,
    slot,
    wallet: isOther ? newWallet() : service.wallet,
    conversation: isOther || isRemoved ? await service.createConversation(app, false) : conversation,
  };
}

async function call(
  name: string,
  operation: ClassifiedOperation,
  caller: Caller,
  app: AppName,
  target: Target,
): Promise<Answer> {
  const key = service.keyOf(caller, app);
  // The service accepts only ten wrong admin keys a minute.
  if (operation.class === "admin") service.passMinute();
  return await sendOperation(service.url, name, operation, target, {
    ...(key !== null && { "SERVICE-APP-KEY": key }),
    // The admin API takes its key in another header.
    ...(key !== null && operation.class === "admin" && { Authorization: `Bearer ${key}` }),
  });
}

/** Returns the canaries that this response may contain. */
function allowedTexts(operation: ClassifiedOperation, caller: Caller, app: AppName): readonly string[] {
  if (expectedStatus(operation, caller, app) !== 200 || operation.class === "public") return [];
  const apps: readonly AppName[] = operation.class === "key" ? appsOpenedBy(caller, app) : [app];
  return apps.flatMap((name) => {
    const { conversation, app: ofApp } = service.apps[name].canaries;
    return caller === "other person" ? ofApp : [...ofApp, ...conversation];
  });
}

function appsOpenedBy(caller: Caller, app: AppName): readonly AppName[] {
  if (caller === "no key") return [];
  if (caller === "key of both") return APPS;
  return caller === "other App's key" ? APPS.filter((name) => name !== app) : [app];
}

/** Returns the canaries of both Apps. */
function canaries(): readonly string[] {
  return Object.values(service.apps).flatMap(({ canaries: { conversation, app, instructions, secret } }) => [
    ...conversation,
    ...app,
    instructions,
    secret,
  ]);
}

describe("the list of operations", () => {
  it("equals the operations of the OpenAPI document", async () => {
    const { paths } = (await send(service.url, "GET", "/openapi.json")).json() as {
      readonly paths: Record<string, object>;
    };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(Object.keys(OPERATIONS).toSorted()).toEqual(documented.toSorted());
  });

  it("covers every registered route, also undocumented ones and those of plugins", async () => {
    const { app } = everything();
    await app.ready();
    const routes = routesIn(app.printRoutes({ commonPrefix: false }));
    expect(routes).toContain("GET /api/sessions/{id}/messages");
    expect(routes.toSorted()).toEqual(
      [...Object.keys(OPERATIONS), ...DOCUMENT_ROUTES, ...PAGE_ROUTES].toSorted(),
    );
  });

  it("classifies each operation as its route declares", async () => {
    const { app } = everything();
    const declared = new Map<string, RouteAccess | undefined>();
    app.addHook("onRoute", ({ method, url, config }) => {
      declared.set(`${[method].flat().join()} ${url.replaceAll(/:([a-z_]+)/g, "{$1}")}`, config?.access);
    });
    await app.ready();
    const wrong = Object.entries(OPERATIONS).filter(
      ([name, { class: of }]) => !classesOf(name, declared.get(name)).includes(of),
    );
    expect(wrong).toEqual([]);
  });
});

/** The web server with every route that there can be. */
function everything() {
  const pages = { console: "/nowhere", guide: "/nowhere" };
  return testEdge({}, { pages, hasAdmin: true, protocols: [echoProtocol, openai, agUi, aomi, mcpServer] });
}

/** Returns the classes that operations with this access may have. */
function classesOf(name: string, access: RouteAccess | undefined): readonly OperationClass[] {
  // The signature is the credential.
  if (name === "POST /api/auth/siwe/verify") return access === "public" ? ["user"] : [];
  if (access === undefined) return [];
  if (typeof access === "string")
    return [({ public: "public", token: "user", operator: "admin" } as const)[access]];
  if (access.app === "opened") return ["key"];
  if (access.app === "session") return access.needsKey === true ? ["app"] : ["session", "user"];
  return access.scope === "read" ? ["app", "session", "user"] : ["app", "user"];
}

describe.each(cells)("$name on a session of $app, with $caller", ({ app, name, caller }) => {
  it("returns the expected status and leaks no text of another App", async () => {
    const operation = OPERATIONS[name]!;
    const target = await targetFor(operation, caller, app);
    const before = await snapshotOf(app, target.conversation.session);
    const answer = await call(name, operation, caller, app, target);
    const status = expectedStatus(operation, caller, app);
    const sent = status === 200 ? (operation.allowed ?? 200) : status;
    expect([answer.status, answer.text]).toEqual([sent, expect.any(String)]);
    const allowed = allowedTexts(operation, caller, app);
    expect(canaries().filter((text) => answer.text.includes(text) && !allowed.includes(text))).toEqual([]);
    expect(service.keySecrets.filter((secret) => answer.text.includes(secret))).toEqual([]);
    if (caller === "own key") answersToOwnKey[app] += answer.text;
    if (sent >= 300) expect(await snapshotOf(app, target.conversation.session)).toBe(before);
    const row = rows.get(`${app} ${name}`) ?? { app, name, class: operation.class, statuses: [] };
    rows.set(`${app} ${name}`, { ...row, statuses: [...row.statuses, answer.status] });
  });
});

const APP_OPERATIONS = Object.entries(OPERATIONS).filter(
  ([, { class: of }]) => of !== "admin" && of !== "public",
);

describe.each(APP_OPERATIONS)("%s", (name, operation) => {
  it.each(APPS)("rejects the admin key as a key of %s, in any header", async (app) => {
    const target = await targetFor(operation, "no key", app);
    const sendWith = async (headers: NonNullable<Call["headers"]>) =>
      (await sendOperation(service.url, name, operation, target, headers)).status;
    expect(await sendWith({ "SERVICE-APP-KEY": ADMIN_KEY })).toBe(401);
    // Operations that require no key ignore it.
    if (expectedStatus(operation, "no key", app) === 200) return;
    expect(await sendWith({ Authorization: `Bearer ${ADMIN_KEY}` })).toBe(401);
  });
});

const GET_OPERATIONS = Object.entries(OPERATIONS).filter(([name]) => name.startsWith("GET "));
const appCallers = APPS.flatMap((app) => CALLERS.map((caller) => ({ app, caller })));

describe.each(appCallers)("on a session of $app, with $caller", ({ app, caller }) => {
  it.each(DOCUMENT_ROUTES)("%s returns 200 and no text of any App", async (name) => {
    const operation: ClassifiedOperation = { class: "public", path: () => name.replace("GET ", "") };
    const answer = await call(name, operation, caller, app, await targetFor(operation, caller, app));
    expect(answer.status).toBe(200);
    expect(answer.text.length).toBeGreaterThan(500);
    expect(confidentialIn(answer.text)).toEqual([]);
  });

  it.each(PAGE_ROUTES)("%s returns no text of any App", async (name) => {
    const operation: ClassifiedOperation = { class: "public", path: () => name.replace("GET ", "") };
    const answer = await call(name, operation, caller, app, await targetFor(operation, caller, app));
    expect([200, 308, 404]).toContain(answer.status);
    expect(confidentialIn(answer.text)).toEqual([]);
  });

  it.each(GET_OPERATIONS)(
    "returns no text for HEAD instead of %s that GET would not return",
    async (name, operation) => {
      const target = await targetFor(operation, caller, app);
      const { status, text } = await call(name.replace("GET", "HEAD"), operation, caller, app, target);
      expect([expectedStatus(operation, caller, app), 404, 405]).toContain(status);
      const allowed = allowedTexts(operation, caller, app);
      expect(confidentialIn(text).filter((found) => !allowed.includes(found))).toEqual([]);
    },
  );
});

/** Returns the canaries and key secrets that occur in the text. */
function confidentialIn(text: string): readonly string[] {
  return [...canaries(), ...service.keySecrets].filter((one) => text.includes(one));
}

async function snapshotOf(app: AppName, session: string): Promise<string> {
  const headers = { "SERVICE-APP-KEY": service.keyOf("own key", app)! };
  return (await send(service.url, "GET", "/api/state", { session, headers })).text;
}

describe("afterwards", () => {
  it("has shown all of an App's texts to callers with its own key", () => {
    for (const app of APPS) {
      const { conversation, app: ofApp } = service.apps[app].canaries;
      expect([...conversation, ...ofApp].filter((text) => !answersToOwnKey[app].includes(text))).toEqual([]);
    }
  });

  it("finds texts of its own App only, and no keys, in the input of each model", () => {
    for (const { model, canaries: own } of Object.values(service.apps)) {
      const received = model.received.join("\n");
      expect(received).toContain(own.instructions);
      for (const text of own.conversation.filter((one) => !one.includes("-title-")))
        expect(received).toContain(text);
      const others = canaries().filter(
        (text) => ![...own.conversation, ...own.app, own.instructions].includes(text),
      );
      expect(others.filter((text) => received.includes(text))).toEqual([]);
      expect(service.keySecrets.filter((secret) => received.includes(secret))).toEqual([]);
    }
  });

  it("finds no canary, key or wallet in the log", () => {
    const logged = service.logged.join("\n");
    expect([...canaries(), ...service.keySecrets].filter((text) => logged.includes(text))).toEqual([]);
    expect(logged).not.toContain(service.wallet);
  });

  it("matrix.md is up to date", async () => {
    expect(rows.size).toBe(APPS.length * Object.keys(OPERATIONS).length);
    const headings = {
      chatty: 'On a session of an App with `requireKey: "chat"`, the default:',
      closed: 'On a session of an App with `requireKey: "all"`:',
    };
    await expect(renderMatrix([...rows.values()], CALLERS, headings)).toMatchFileSnapshot("matrix.md");
  });
});
