// Sessions, models, tools, keys and secrets of one App never reach another: every operation with every kind
// of caller, on a session of each App, searched for texts of the other. matrix.md shows the result; `npx
// vitest run packages/server/test/isolation -u` updates it.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Hidden } from "../../src/core/hidden.ts";
import type { AdminService } from "../../src/core/ports/driving/admin-service.ts";
import { testEdge } from "../../src/http/testing/edge.ts";
import { newWallet, open, send, type Call } from "../black-box/client.ts";
import {
  ABOUT_THE_DOCUMENT,
  CLASSIFIED,
  expectedStatus,
  OF_THE_CONSOLE,
  type ClassifiedOperation,
  type Target,
} from "./classified-operations.ts";
import {
  ADMIN_KEY,
  APPS,
  CALLERS,
  givenService,
  type AppName,
  type Caller,
  type GivenService,
} from "./given-apps.ts";
import { renderMatrix, routesIn, type Row } from "./matrix.ts";

const cells = APPS.flatMap((app) =>
  Object.keys(CLASSIFIED).flatMap((name) => CALLERS.map((caller) => ({ app, name, caller }))),
);

let service: GivenService;
const rows = new Map<string, Row>();
/** Everything shown to callers with an App's own key: without it this test would prove nothing. */
const shown: Record<AppName, string> = { chatty: "", closed: "" };
beforeAll(async () => {
  service = await givenService();
});
afterAll(() => service.close());

interface Seen {
  readonly status: number;
  /** Head and body. */
  readonly text: string;
}

/** Returns a caller's target: the conversation with the canaries, or for another person one of its own. */
async function targetFor(operation: ClassifiedOperation, caller: Caller, app: AppName): Promise<Target> {
  const { rig, slot, conversation } = service.apps[app];
  const isOther = caller === "other person";
  const isRemoved = operation.removes === true && expectedStatus(operation, caller, app) === 200;
  return {
    app,
    rig,
    slot,
    wallet: isOther ? newWallet() : service.wallet,
    conversation: isOther || isRemoved ? await service.converse(app, false) : conversation,
  };
}

async function ask(
  name: string,
  operation: ClassifiedOperation,
  caller: Caller,
  target: Target,
): Promise<Seen> {
  const [method = ""] = name.split(" ");
  const key = service.keyOf(caller, target.app);
  const call: Call = {
    ...operation.call,
    ...(operation.body !== undefined && { json: operation.body(target) }),
    session: target.conversation.session,
    headers: {
      ...operation.call?.headers,
      ...(key !== null && { "SERVICE-APP-KEY": key }),
      // The admin API takes its key in another header.
      ...(key !== null && operation.class === "admin" && { Authorization: `Bearer ${key}` }),
    },
  };
  const path = operation.path(target);
  // Wrong admin keys are limited to ten a minute, on loopback too.
  if (operation.class === "admin") service.passMinute();
  if (operation.streams === true) return await readStream(method, path, call);
  const { status, headers, text } = await send(service.url, method, path, call);
  return { status, text: JSON.stringify(headers) + text };
}

/** Reads a stream to the current end of the session's log. */
async function readStream(method: string, path: string, call: Call): Promise<Seen> {
  const message = await open(service.url, method, path, call);
  const status = message.statusCode ?? 0;
  let text = JSON.stringify(message.headers);
  const state =
    status === 200
      ? await send(service.url, "GET", "/api/state", { ...call, headers: withoutAccept(call) })
      : null;
  const head = state === null ? null : (state.json() as { readonly last_event_id: string }).last_event_id;
  message.setEncoding("utf8");
  for await (const chunk of message) {
    text += String(chunk);
    if (head !== null && text.includes(`id: ${head}\n`)) break;
  }
  message.destroy();
  return { status, text };
}

function withoutAccept({ headers }: Call): NonNullable<Call["headers"]> {
  const { Accept: _accept, ...others } = headers ?? {};
  return others;
}

/** Returns the texts that this answer may contain. */
function allowed(operation: ClassifiedOperation, caller: Caller, app: AppName): readonly string[] {
  if (expectedStatus(operation, caller, app) !== 200 || operation.class === "public") return [];
  const opened: readonly AppName[] = operation.class === "key" ? openedBy(caller, app) : [app];
  return opened.flatMap((name) => {
    const { conversation, app: ofApp } = service.apps[name].canaries;
    return caller === "other person" ? ofApp : [...ofApp, ...conversation];
  });
}

function openedBy(caller: Caller, app: AppName): readonly AppName[] {
  if (caller === "no key") return [];
  if (caller === "key of both") return APPS;
  return caller === "other App's key" ? APPS.filter((name) => name !== app) : [app];
}

/** Returns all texts that must not leak. */
function canaries(): readonly string[] {
  return Object.values(service.apps).flatMap(({ canaries: { conversation, app, instructions, secret } }) => [
    ...conversation,
    ...app,
    instructions,
    secret,
  ]);
}

describe("the classification", () => {
  it("covers exactly the operations of the document", async () => {
    const { paths } = (await send(service.url, "GET", "/openapi.json")).json() as {
      readonly paths: Record<string, object>;
    };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(Object.keys(CLASSIFIED).toSorted()).toEqual(documented.toSorted());
  });

  it("covers every route of the service, documented or not", async () => {
    const { app } = testEdge({}, null, "/nowhere", {
      key: new Hidden(ADMIN_KEY),
      service: {} as AdminService,
    });
    await app.ready();
    const routes = routesIn(app.printRoutes({ commonPrefix: false }));
    expect(routes).toContain("GET /api/sessions/{id}/messages");
    expect(routes.toSorted()).toEqual(
      [...Object.keys(CLASSIFIED), ...ABOUT_THE_DOCUMENT, ...OF_THE_CONSOLE].toSorted(),
    );
  });
});

describe.each(cells)("$name on a session of $app, with $caller", ({ app, name, caller }) => {
  it("answers as in the matrix, without leaks", async () => {
    const operation = CLASSIFIED[name]!;
    const target = await targetFor(operation, caller, app);
    const before = await snapshotOf(app, target.conversation.session);
    const seen = await ask(name, operation, caller, target);
    const status = expectedStatus(operation, caller, app);
    expect([seen.status, seen.text]).toEqual([status, expect.any(String)]);
    const fit = allowed(operation, caller, app);
    expect(canaries().filter((text) => seen.text.includes(text) && !fit.includes(text))).toEqual([]);
    expect(service.keySecrets.filter((secret) => seen.text.includes(secret))).toEqual([]);
    if (caller === "own key") shown[app] += seen.text;
    if (status !== 200) expect(await snapshotOf(app, target.conversation.session)).toBe(before);
    const row = rows.get(`${app} ${name}`) ?? { app, name, class: operation.class, statuses: [] };
    rows.set(`${app} ${name}`, { ...row, statuses: [...row.statuses, seen.status] });
  });
});

const BEYOND = Object.entries(CLASSIFIED).filter(([, { class: of }]) => of !== "admin" && of !== "public");

describe.each(BEYOND)("the admin key and %s", (name, operation) => {
  it.each(APPS)("is not a key of %s, in any header", async (app) => {
    const target = await targetFor(operation, "no key", app);
    const [method = ""] = name.split(" ");
    const sendWith = async (headers: NonNullable<Call["headers"]>) => {
      const call: Call = {
        ...(operation.body !== undefined && { json: operation.body(target) }),
        session: target.conversation.session,
        headers: { ...operation.call?.headers, ...headers },
      };
      const path = operation.path(target);
      if (operation.streams === true) return (await readStream(method, path, call)).status;
      return (await send(service.url, method, path, call)).status;
    };
    expect(await sendWith({ "SERVICE-APP-KEY": ADMIN_KEY })).toBe(401);
    // Operations without required keys ignore it.
    if (expectedStatus(operation, "no key", app) === 200) return;
    expect(await sendWith({ Authorization: `Bearer ${ADMIN_KEY}` })).toBe(401);
  });
});

const READ = Object.entries(CLASSIFIED).filter(([name]) => name.startsWith("GET "));
const asides = APPS.flatMap((app) => CALLERS.map((caller) => ({ app, caller })));

describe.each(asides)("on a session of $app, with $caller", ({ app, caller }) => {
  it.each(ABOUT_THE_DOCUMENT)("%s answers anybody, without texts of any App", async (name) => {
    const operation: ClassifiedOperation = { class: "public", path: () => name.replace("GET ", "") };
    const seen = await ask(name, operation, caller, await targetFor(operation, caller, app));
    expect(seen.status).toBe(200);
    expect(seen.text.length).toBeGreaterThan(500);
    expect(foreign(seen.text)).toEqual([]);
  });

  it.each(OF_THE_CONSOLE)("%s reveals nothing about any App", async (name) => {
    const operation: ClassifiedOperation = { class: "public", path: () => name.replace("GET ", "") };
    const seen = await ask(name, operation, caller, await targetFor(operation, caller, app));
    expect([200, 404]).toContain(seen.status);
    expect(foreign(seen.text)).toEqual([]);
  });

  it.each(READ)("HEAD, where the service supports %s, reveals no more than that", async (name, operation) => {
    const target = await targetFor(operation, caller, app);
    const { streams: _, ...read } = operation;
    const { status, text } = await ask(name.replace("GET", "HEAD"), read, caller, target);
    expect([expectedStatus(operation, caller, app), 404, 405]).toContain(status);
    const own = allowed(operation, caller, app);
    expect(foreign(text).filter((found) => !own.includes(found))).toEqual([]);
  });
});

/** Returns texts that not everybody may see. */
function foreign(text: string): readonly string[] {
  return [...canaries(), ...service.keySecrets].filter((one) => text.includes(one));
}

async function snapshotOf(app: AppName, session: string): Promise<string> {
  const headers = { "SERVICE-APP-KEY": service.keyOf("own key", app)! };
  return (await send(service.url, "GET", "/api/state", { session, headers })).text;
}

describe("as a cross-check", () => {
  it("each App's own key has shown all of its texts", () => {
    for (const app of APPS) {
      const { conversation, app: ofApp } = service.apps[app].canaries;
      expect([...conversation, ...ofApp].filter((text) => !shown[app].includes(text))).toEqual([]);
    }
  });

  it("each model received texts of its own App only, and no keys", () => {
    for (const { model, canaries: own } of Object.values(service.apps)) {
      const told = model.told.join("\n");
      expect(told).toContain(own.instructions);
      for (const text of own.conversation.filter((one) => !one.includes("-title-")))
        expect(told).toContain(text);
      const others = canaries().filter(
        (text) => ![...own.conversation, ...own.app, own.instructions].includes(text),
      );
      expect(others.filter((text) => told.includes(text))).toEqual([]);
      expect(service.keySecrets.filter((secret) => told.includes(secret))).toEqual([]);
    }
  });

  it("the log contains none of it", () => {
    const logged = service.logged.join("\n");
    expect([...canaries(), ...service.keySecrets].filter((text) => logged.includes(text))).toEqual([]);
    expect(logged).not.toContain(service.wallet);
  });

  it("the matrix in docs/security.md is up to date", async () => {
    expect(rows.size).toBe(APPS.length * Object.keys(CLASSIFIED).length);
    await expect(renderMatrix([...rows.values()])).toMatchFileSnapshot("matrix.md");
  });
});
