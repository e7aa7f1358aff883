import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import type { Actor, AuditEntry } from "@colloquy/engine/internal/core/audit";
import { APP_SCOPES } from "@colloquy/engine/internal/core/key-scopes";
import type { AuditQuery } from "@colloquy/engine/internal/core/ports/driven/store";
import type { ActionAnswer } from "@colloquy/engine/internal/core/commands/decide-action";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { APPROVE, askOf, chat, DENY, existing, waitFor } from "./fixtures/scenario.ts";

const ADA: Actor = { kind: "operator", id: "ada", name: "Ada", address: "192.0.2.1", requestId: "r1" };
const ALL: AuditQuery = {
  action: null,
  actor: null,
  app: null,
  target: null,
  from: null,
  to: null,
  after: null,
  limit: 100,
};

const entry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  action: "session_read",
  actor: ADA,
  app: "default",
  target: randomUUID(),
  details: {},
  ...more,
});

export function describeAudit(openStore: OpenStore): void {
  describe("the audit trail", () => {
    const given = givenStore(openStore, "each");
    const actions = async () => (await given.store.audit.list(ALL)).map(({ action }) => action);

    it("returns complete entries, newest first, in pages and by filter", async () => {
      const { audit } = given.store;
      const first = entry({ action: "key_created", target: "k", app: null, details: { apps: ["defi"] } });
      const second = entry({ actor: { ...ADA, id: "bob", name: null, address: null, requestId: null } });
      await audit.add(first);
      await given.clock.advance(1000);
      await audit.add(second);
      const [newest, oldest] = await audit.list(ALL);
      expect(newest).toMatchObject(second);
      expect(oldest).toMatchObject(first);
      expect(newest!.at).toBeGreaterThan(oldest!.at);
      expect(await audit.list({ ...ALL, limit: 1 })).toEqual([newest]);
      expect(await audit.list({ ...ALL, after: newest! })).toEqual([oldest]);
      const filters = [
        { action: "key_created" },
        { actor: "Ada" },
        { actor: "ada" },
        { target: "k" },
        { to: newest!.at },
      ] as const;
      for (const filter of filters) expect(await audit.list({ ...ALL, ...filter })).toEqual([oldest]);
      for (const filter of [{ app: "default" }, { actor: "bob" }, { from: newest!.at }] as const)
        expect(await audit.list({ ...ALL, ...filter })).toEqual([newest]);
    });

    it("continues a page between entries of the same millisecond", async () => {
      const { audit } = given.store;
      for (const target of ["1", "2", "3"]) await audit.add(entry({ target }));
      const all = await audit.list(ALL);
      expect(all.map(({ target }) => target)).toEqual(["3", "2", "1"]);
      expect(await audit.list({ ...ALL, after: all[0]!, limit: 1 })).toEqual([all[1]]);
    });

    it("stores a repeated read or failed login once a minute for each actor and target", async () => {
      const { audit } = given.store;
      const read = entry();
      for (const one of [read, read, { ...read, target: "other" }]) await audit.add(one);
      for (const address of ["192.0.2.1", "192.0.2.1", "192.0.2.2"])
        await audit.add(entry({ action: "login_failed", target: null, actor: { ...ADA, address } }));
      expect((await actions()).toSorted()).toEqual([
        "login_failed",
        "login_failed",
        "session_read",
        "session_read",
      ]);
      await given.clock.advance(60_000);
      await audit.add(read);
      expect(await actions()).toHaveLength(5);
      for (let n = 0; n < 2; n += 1) await audit.add(entry({ action: "key_revoked", target: "k" }));
      expect(await actions()).toHaveLength(7);
    });

    it("has an entry for each change of a session by a person, in its transaction, and none for a no-op", async () => {
      const { store } = given;
      const { id } = await waitFor(store, askOf("a"));
      const [pending] = (await store.actions.list(id, 10))!;
      const decided = (answer: ActionAnswer) =>
        store.execute({
          kind: "decideAction",
          target: existing(id),
          input: { action: pending!.id, ...answer, by: ADA },
        });
      const committed = await decided(APPROVE);
      const about = { actor: ADA, app: "default", target: id };
      const { tool, asked } = pending!;
      const details = { action: pending!.id, kind: asked.kind, tool, decision: "approve" };
      expect(committed!.audited).toEqual([{ action: "action_decided", ...about, details }]);
      // The same again, and another decision, which is refused.
      await decided(APPROVE);
      await decided(DENY);
      await store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      await given.clock.advance(1);
      const claim = () =>
        store.execute({ kind: "claim", target: existing(id), input: { owner: "a", wallets: [], by: ADA } });
      await claim();
      await claim();
      await given.clock.advance(1);
      const transfer = () =>
        store.execute({
          kind: "transfer",
          target: existing(id),
          input: { owner: "o", subject: "pseudonym", by: ADA },
        });
      await transfer();
      await transfer();
      await given.clock.advance(1);
      await store.execute({ kind: "delete", target: existing(id), input: ADA });
      expect(await store.audit.list(ALL)).toMatchObject([
        { action: "session_deleted", ...about },
        { action: "session_transferred", ...about, details: { to: "pseudonym" } },
        { action: "session_claimed", ...about },
        { action: "action_decided", ...about, details },
      ]);
    });

    it("has no entries for changes by the service itself", async () => {
      const { store } = given;
      const id = randomUUID();
      await chat(store, id, "hello");
      await store.execute({ kind: "transfer", target: existing(id), input: { owner: "o" } });
      await store.execute({ kind: "delete", target: existing(id), input: null });
      expect(await actions()).toEqual([]);
    });

    it("has entries for changed keys and secrets, and none for a no-op", async () => {
      const { keys, secrets } = given.store;
      const { clock } = given;
      const key = (id: string) => ({
        id,
        name: null,
        apps: ["defi"],
        scopes: APP_SCOPES,
        digest: "0".repeat(64),
        createdAt: clock.now(),
        expiresAt: null,
        revokedAt: null,
      });
      const about = (action: AuditEntry["action"]) => entry({ action, app: null, target: "a" });
      await keys.add(key("a"), about("key_created"));
      await keys.rotate("a", key("b"), 1000, about("key_rotated"));
      for (let n = 0; n < 2; n += 1) await keys.revoke("a", about("key_revoked"));
      await expect(keys.add(key("a"), about("key_created"))).rejects.toThrow();
      expect(await keys.rotate("none", key("c"), 0, about("key_rotated"))).toBeNull();
      const place = { app: "defi", clientId: "c", name: "A" };
      const sealed = [{ ...place, keyId: "master", sealed: "x" }];
      // No master key is in force: nothing is written.
      await secrets.put(sealed, about("secrets_set"));
      await secrets.bringInForce("master", null);
      await secrets.put(sealed, about("secrets_set"));
      await secrets.remove("defi", "nobody", null, about("secrets_removed"));
      await secrets.remove("defi", "c", null, about("secrets_removed"));
      expect((await actions()).toSorted()).toEqual([
        "key_created",
        "key_revoked",
        "key_rotated",
        "secrets_removed",
        "secrets_set",
      ]);
    });

    it("deletes old entries in portions, and keeps one salt per user until an erasure ends", async () => {
      const { audit } = given.store;
      for (let n = 0; n < 3; n += 1) await audit.add(entry());
      const [newest] = await audit.list(ALL);
      expect(await audit.forget(newest!.at, 10)).toBe(0);
      expect([await audit.forget(newest!.at + 1, 2), await audit.forget(newest!.at + 1, 2)]).toEqual([2, 1]);
      expect([await audit.saltOf("alice", "one"), await audit.saltOf("alice", "two")]).toEqual([
        "one",
        "one",
      ]);
      expect(await audit.saltOf("bob", "three")).toBe("three");
      await audit.endErasure(entry({ action: "user_erased" }), "alice");
      await audit.endErasure(entry({ action: "user_erased" }), null);
      expect(await audit.saltOf("alice", "four")).toBe("four");
      expect(await audit.saltOf("bob", "five")).toBe("three");
      expect(await actions()).toEqual(["user_erased", "user_erased"]);
    });
  });
}
