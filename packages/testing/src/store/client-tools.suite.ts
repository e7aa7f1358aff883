import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { CLAIM_MS } from "@colloquy/engine/internal/core/commands/claim-action";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  allEvents,
  askOf,
  claimAction,
  claimTurns,
  clientToolOf,
  DENY,
  decide,
  everything,
  existing,
  load,
  remove,
  waitFor,
} from "./fixtures/scenario.ts";

/** Returns the result of a client tool under a claim. */
function outputUnder(claim: string, output = 1) {
  return { decision: "approve", claim, result: { output } } as const;
}

export function describeClientTools(openStore: OpenStore): void {
  describe("actions that a client runs", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("are claimed by one client, whose claim is stored and announced", async () => {
      const asked = askOf("a", { asked: clientToolOf() });
      const { id } = await waitFor(given.store, asked);
      const tokens = ["one", "two", "three"];
      const claims = await Promise.all(
        tokens.map((token) => claimAction(given.store, existing(id), asked.id, { token })),
      );
      const kinds = claims
        .map((claim) => claim?.outcome)
        .map((outcome) => (outcome as { kind: string }).kind);
      expect(kinds.toSorted()).toEqual(["claimed", "claimed_otherwise", "claimed_otherwise"]);
      const token = tokens[kinds.indexOf("claimed")];
      const expiresAt = given.clock.now() + CLAIM_MS;
      expect((await load(given.store, id)).pendingActions).toMatchObject([{ claim: { token, expiresAt } }]);
      expect((await allEvents(given.store, id)).at(-1)?.event).toEqual({
        type: "action_claimed",
        id: asked.id,
        claim_expires_at: new Date(expiresAt).toISOString(),
      });
    });

    it("keep their claim and its end over a restart", async () => {
      if (given.reopen === null) return;
      const asked = askOf("a", { asked: clientToolOf() });
      const { id } = await waitFor(given.store, asked);
      await claimAction(given.store, existing(id), asked.id, { token: "mine" });
      const before = await everything(given.store, id);
      given.store = await given.reopen();
      expect(await everything(given.store, id)).toEqual(before);
      const decided = await decide(given.store, existing(id), asked.id, outputUnder("mine"));
      expect(decided?.outcome).toMatchObject({ kind: "decided", unblocked: 1 });
    });

    it("are due when their claim expires: an unsafe call ends, a repeatable one can be claimed again", async () => {
      const [once, again] = [
        askOf("a", { asked: clientToolOf() }),
        askOf("a", { asked: clientToolOf({ repeatable: true }) }),
      ];
      const { id } = await waitFor(given.store, once);
      const { id: other } = await waitFor(given.store, again);
      await claimAction(given.store, existing(id), once.id);
      await given.clock.advance(1);
      await claimAction(given.store, existing(other), again.id);
      await given.clock.advance(CLAIM_MS - 2);
      expect(await given.store.actions.isAnyDue()).toBe(false);
      await given.clock.advance(1);
      expect(await given.store.actions.isAnyDue()).toBe(true);
      const [first, ...none] = await given.store.executeEach({ kind: "expireActions", limit: 5 });
      expect(none).toEqual([]);
      expect(first).toMatchObject({ session: { id }, outcome: { unblocked: 1 } });
      await given.clock.advance(1);
      expect(await given.store.actions.isAnyDue()).toBe(true);
      const freed = await given.store.executeEach({ kind: "expireActions", limit: 5 });
      expect(freed).toMatchObject([{ session: { id: other }, outcome: { unblocked: 0 } }]);
      expect(await given.store.actions.isAnyDue()).toBe(false);
      expect((await load(given.store, other)).pendingActions).toMatchObject([{ claim: null }]);
      expect((await load(given.store, id)).messages[1]?.toolResults).toMatchObject([
        { call_id: "a", output: "outcome unknown", is_error: true },
      ]);
      const claimed = await claimAction(given.store, existing(other), again.id, { token: "second" });
      expect(claimed?.outcome).toMatchObject({ kind: "claimed" });
      await decide(given.store, existing(other), again.id, outputUnder("second"));
      expect(await given.store.executeEach({ kind: "expireActions", limit: 5 })).toEqual([]);
      const resumed = await claimTurns(given.store, { count: 5 });
      expect(resumed.map(({ session }) => session.id).toSorted()).toEqual([id, other].toSorted());
      expect(resumed.map(({ outcome }) => outcome?.openCalls)).toEqual([[], []]);
    });

    it("leave nothing due once they are decided, cancelled or deleted", async () => {
      const ids: string[] = [];
      for (let index = 0; index < 3; index += 1) {
        const asked = askOf("a", { asked: clientToolOf() });
        const { id } = await waitFor(given.store, asked);
        await claimAction(given.store, existing(id), asked.id, { token: "mine" });
        ids.push(id);
        if (index === 0) await decide(given.store, existing(id), asked.id, { ...DENY, claim: "mine" });
        if (index === 1)
          await given.store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
        if (index === 2) await remove(given.store, existing(id));
      }
      await given.clock.advance(CLAIM_MS);
      expect(await given.store.actions.isAnyDue()).toBe(false);
      expect(await given.store.executeEach({ kind: "expireActions", limit: 5 })).toEqual([]);
    });

    it("belong to the App and client of their turn", async () => {
      const asked = askOf("a", { asked: clientToolOf() });
      const { id } = await waitFor(given.store, asked);
      expect(await given.store.actions.callerOf(id, asked.id)).toEqual({ app: "default", clientId: null });
      expect(await given.store.actions.callerOf(id, randomUUID())).toBeNull();
      expect(await given.store.actions.callerOf(randomUUID(), asked.id)).toBeNull();
    });
  });
}
