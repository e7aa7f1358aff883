import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newId, startService, until, type TestService } from "../../../server/test/service.ts";
import { SERVICE_ACTOR } from "../core/audit.ts";
import { Unavailable } from "../core/errors.ts";

const OWNER = "owner of the test";
const ALICE = { owner: OWNER, publicKey: null, app: null };
const ANY_ENTRY = {
  action: null,
  actor: null,
  app: null,
  target: null,
  from: null,
  to: null,
  limit: 10,
  cursor: null,
};

let service: TestService;
/** Methods of the store that were called. */
let calls: string[];
/** The method that fails once. */
let failing: string | null;
beforeEach(async () => {
  calls = [];
  failing = null;
  service = await startService({
    beforeCall: (method) => {
      calls.push(method);
      if (method !== failing) return undefined;
      failing = null;
      throw new Unavailable(503, "store_unavailable", "Later.", 1);
    },
  });
});
afterEach(() => service.close());

async function conversationOf(owner: string): Promise<string> {
  const id = newId();
  await service.say(id, "hello");
  (await service.model.next()).say("hi").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
  await service.threads.transfer(id, { owner }, null);
  return id;
}

describe("an erasure", () => {
  it("fails if its entry in the audit trail cannot be written, and is complete when repeated", async () => {
    const id = await conversationOf(OWNER);
    const pseudonym = await service.audit.subjectOf(OWNER);
    failing = "audit.endErasure";
    await expect(service.userData.erase(ALICE, SERVICE_ACTOR)).rejects.toMatchObject({ status: 503 });
    expect(await service.store.sessions.find(id)).toBeNull();
    expect((await service.audit.list(ANY_ENTRY)).entries).toEqual([]);
    expect(await service.audit.subjectOf(OWNER)).toBe(pseudonym);

    await service.userData.erase(ALICE, SERVICE_ACTOR);
    const { entries } = await service.audit.list(ANY_ENTRY);
    expect(entries).toMatchObject([{ action: "user_erased", target: pseudonym }]);
    expect(await service.audit.subjectOf(OWNER)).not.toBe(pseudonym);
  });

  it("in one App leaves the secrets of the others, which an export of that App does not name either", async () => {
    const { secrets } = service.store;
    await secrets.bringInForce("key", null);
    const place = { clientId: OWNER, name: "API_KEY", keyId: "key", sealed: "…" };
    await secrets.put(["shop", "games"].map((app) => ({ ...place, app })));
    const inShop = { ...ALICE, app: "shop" };
    const exported = await Array.fromAsync(service.userData.export(inShop, SERVICE_ACTOR));
    expect(exported).toMatchObject([
      { kind: "secret", app: "shop" },
      { kind: "done", secrets: 1 },
    ]);
    expect(await service.userData.erase(inShop, SERVICE_ACTOR)).toMatchObject({ secrets: 1 });
    expect(await secrets.ofClient(OWNER)).toEqual([{ app: "games", name: "API_KEY" }]);
  });

  it("stops the running turn of a session that it deletes", async () => {
    const id = newId();
    await service.say(id, "hello");
    await service.threads.transfer(id, { owner: OWNER }, null);
    const call = await service.model.next();
    expect(await service.userData.erase(ALICE, SERVICE_ACTOR)).toMatchObject({ sessions: 1, messages: 2 });
    await until(() => call.options.abortSignal?.aborted === true);
    expect(await service.store.sessions.find(id)).toBeNull();
  });
});

describe("an export", () => {
  it("reads a conversation only when its reader has taken the one before", async () => {
    for (let made = 0; made < 3; made += 1) await conversationOf(OWNER);
    calls = [];
    const pagesRead = () => calls.filter((method) => method === "sessions.messagePage").length;
    const lines = service.userData.export(ALICE, SERVICE_ACTOR);
    for (const kind of ["session", "message", "message"])
      expect((await lines.next()).value).toMatchObject({ kind });
    expect(pagesRead()).toBe(1);
    const rest: string[] = [];
    for await (const { kind } of lines) rest.push(kind);
    expect(rest.filter((kind) => kind === "session")).toHaveLength(2);
    expect(pagesRead()).toBe(3);
  });
});
