// The contract of leases for a single process without other nodes.

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { ManualClock } from "../../../../server/test/manual-clock.ts";
import { LEASE_MS } from "../../core/turn.ts";
import { givenStore } from "@colloquy/testing/internal/store/fixtures/given-store";
import { identityOf, startTurn, step, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import { openSqliteStore } from "./open.ts";

const onFatal = (error: Error): never => {
  throw error;
};
const given = givenStore(async (clock: ManualClock) => {
  const store = await openSqliteStore({ directory: null, isAlone: true, clock, onFatal });
  return { store, reopen: null, dispose: async () => undefined };
}, "each");

it("permits renewal and writes under an expired lease until it is released", async () => {
  const { turns } = given.store;
  const turn = identityOf(await startTurn(given.store, randomUUID(), "one"));
  await given.clock.advance(LEASE_MS + 1);
  expect(await given.store.turns.checkpoint([{ turn, offset: 0, text: "late" }])).toEqual([true]);
  expect(await turns.renew("owner", [turn.epoch], LEASE_MS)).toEqual({ renewed: [turn.epoch], busy: [] });
  expect(await turns.releaseDeadLeases(null)).toBe(0);
  await given.clock.advance(LEASE_MS);
  expect(await turns.releaseDeadLeases(null)).toBe(1);
  expect(await turns.renew("owner", [turn.epoch], LEASE_MS)).toEqual({ renewed: [], busy: [] });
  expect(await given.store.turns.checkpoint([{ turn, offset: 4, text: ", too late" }])).toEqual([false]);
  expect(
    await given.store.execute({ kind: "complete", target: { turn }, input: { step: step(1, "too late") } }),
  ).toBeNull();
});

it("rejects writes of an interrupted turn, however long its lease lasts", async () => {
  const { turns } = given.store;
  const id = randomUUID();
  const turn = identityOf(await startTurn(given.store, id, "one"));
  await given.store.execute({ kind: "interrupt", target: target(id), input: { streamed: null } });
  expect(await turns.renew("owner", [turn.epoch], LEASE_MS)).toEqual({ renewed: [], busy: [] });
  expect(
    await given.store.execute({ kind: "complete", target: { turn }, input: { step: step(1, "late") } }),
  ).toBeNull();
});
