// Every operation of the admin client against the real service.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Program } from "../../server/test/black-box/server.ts";
import { ColloquyError, createAdminClient, type AdminClient } from "../src/admin.ts";
import { createClient, ColloquyError as OfClient } from "../src/index.ts";

const KEY = "admin-key-of-the-client-test";

let program: Program;
let admin: AdminClient;

beforeAll(async () => {
  const config = { apps: { default: {}, shop: { requireKey: "chat" } } };
  program = await Program.start(config, { COLLOQUY_ADMIN_KEY: KEY });
  admin = createAdminClient({ baseUrl: `${program.url}/`, key: KEY });
});
afterAll(() => program.remove());

it("has a method for every admin operation of the OpenAPI document", async () => {
  const document = (await (await fetch(`${program.url}/openapi.json`)).json()) as {
    readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
  };
  const operations = Object.entries(document.paths)
    .filter(([path]) => path.startsWith("/api/admin/"))
    .flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId));
  // Two formats of one operation.
  const methods = Object.keys(admin).filter((name) => name !== "feedbackTable");
  const named = methods.map((name) => `admin${name[0]!.toUpperCase()}${name.slice(1)}`);
  expect(named.toSorted()).toEqual(operations.toSorted());
});

it("lists, reads, interrupts and deletes sessions", async () => {
  const client = createClient({ baseUrl: program.url });
  const [one, two] = [client.session(), client.session()];
  await one.send("hello", { wait: true });
  await two.send("count to 5000");
  const { sessions, next_cursor } = await admin.listSessions({ limit: 1 });
  expect(sessions.map(({ session_id }) => session_id)).toEqual([two.id]);
  const rest = await admin.listSessions({ limit: 1, cursor: next_cursor! });
  expect(rest.sessions.map(({ session_id }) => session_id)).toEqual([one.id]);
  const running = await admin.listSessions({ status: "processing", app: "default", search: two.id });
  expect(running.sessions[0]?.turn?.state).toBe("running");
  expect((await admin.getSession(one.id, { limit: 1 })).turns[0]).toMatchObject({ number: 1 });
  expect((await admin.getSession(one.id, { before: 1 })).turns).toEqual([]);
  const messages = await admin.listMessages(one.id);
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(await admin.listMessages(one.id, { after: messages[0]!.id, limit: 1 })).toEqual([messages[1]]);
  expect((await admin.interrupt(two.id)).turn?.state).toBe("interrupted");
  await admin.deleteSession(two.id);
  await expect(admin.getSession(two.id)).rejects.toMatchObject({ status: 404, code: "session_not_found" });
});

it("creates, lists, rotates and revokes keys", async () => {
  const issued = await admin.createKey({ apps: ["shop"], name: "web", expiresInSeconds: 60 });
  expect(issued).toMatchObject({ apps: ["shop"], name: "web", status: "good" });
  const shop = createClient({ baseUrl: program.url, app: "shop", key: issued.key });
  expect((await shop.session().send("hello", { wait: true })).app).toBe("shop");
  const next = await admin.rotateKey(issued.id, { overlapSeconds: 5 });
  expect((await admin.listKeys({ app: "shop" })).map(({ id }) => id)).toEqual([issued.id, next.id]);
  expect((await admin.revokeKey(next.id)).status).toBe("revoked");
  expect(await admin.listKeys({ app: "nobody" })).toEqual([]);
});

it("reads the overview, Apps and reports", async () => {
  expect(await admin.overview()).toMatchObject({ is_ready: true, store: { is_healthy: true } });
  expect((await admin.listApps()).map(({ name }) => name)).toEqual(["default", "shop"]);
  const turns = async (): Promise<number> =>
    (await admin.usage({ bucket: "day" })).rows.reduce((sum, { turns }) => sum + turns, 0);
  const before = await turns();
  await createClient({ baseUrl: program.url }).session().send("hello", { wait: true });
  expect(await turns()).toBe(before + 1);
  expect((await admin.latency({ bucket: "minute" })).rows.length).toBeGreaterThan(0);
  const long = { from: new Date("2020-01-01T00:00:00Z"), to: new Date("2020-01-02T00:00:00Z") };
  expect(await admin.usage(long)).toMatchObject({ from: "2020-01-01T00:00:00.000Z", turns_read: 0 });
  expect((await admin.latency(long)).to).toBe("2020-01-02T00:00:00.000Z");
});

describe("failures", () => {
  it("have the error class of the main entry and do not contain the key", async () => {
    const stranger = createAdminClient({ baseUrl: program.url, key: "not the key of this service" });
    const error = await stranger.overview().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 401, code: "admin_key_invalid" });
    expect(error).toBeInstanceOf(OfClient);
    expect(ColloquyError).toBe(OfClient);
    expect((error as Error).message).not.toContain("not the key");
  });

  it("are not retried for operations that must not happen twice", async () => {
    let tried = 0;
    const failing: typeof fetch = () => {
      tried += 1;
      return Promise.reject(new TypeError("fetch failed"));
    };
    const timing = {
      after: (_ms: number, callback: () => void) => {
        const timer = setTimeout(callback, 0);
        return { stop: () => clearTimeout(timer) };
      },
      random: () => 0,
      onWake: () => () => undefined,
    };
    const away = createAdminClient({ key: KEY, fetch: failing, retries: 2, timing });
    const id = randomUUID();
    for (const once of [
      () => away.createKey({ apps: ["shop"] }),
      () => away.rotateKey("x"),
      () => away.deleteSession(id),
    ]) {
      tried = 0;
      await expect(once()).rejects.toMatchObject({ code: "network_failed" });
      expect(tried).toBe(1);
    }
  });

  it("end when the caller aborts", async () => {
    const abort = new AbortController();
    abort.abort(new Error("enough"));
    await expect(admin.overview({ signal: abort.signal })).rejects.toThrow("enough");
  });
});
