// Claims of actions that a node of the previous version, which knows no claims, has ended.

import { expect, it } from "../harness.ts";
import { CLAIM_MS } from "@colloquy/engine/internal/core/commands/claim-action";
import type { ManualClock } from "../manual-clock.ts";
import type { OpenedDatabase } from "./sizes.suite.ts";
import { askOf, claimAction, clientToolOf, existing, waitFor } from "./fixtures/scenario.ts";

/** Opens an empty store on this clock, which is closed after the test. */
export function describeEndedClaims(
  openDatabase: () => Promise<OpenedDatabase & { readonly clock: ManualClock }>,
): void {
  it("leaves nothing due when the previous version ends an action that is claimed", async () => {
    const { store, clock, execute } = await openDatabase();
    const asked = askOf("a", { asked: clientToolOf() });
    const { id } = await waitFor(store, asked);
    await claimAction(store, existing(id), asked.id);
    await execute("UPDATE actions SET status = 'cancelled', resolved_at = 1");
    await clock.advance(CLAIM_MS);
    expect(await store.actions.isAnyDue()).toBe(false);
    expect(await store.executeEach({ kind: "expireActions", limit: 1 })).toEqual([]);
  });
}
