// Rotations of the master key beside writes of other nodes (ADR 12).

import { beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import type { SealedSecret, SecretStore } from "@colloquy/engine/internal/core/ports/driven/secret-store";

const OLD: SealedSecret = { app: "defi", clientId: "web", name: "A", keyId: "k1", sealed: "old" };
const NEW: SealedSecret = { ...OLD, sealed: "new" };

describe.skipIf(await isWithoutPostgres())("the master key in force on two nodes", () => {
  const database = useDatabase("the schema");
  let here: SecretStore;
  let there: SecretStore;
  beforeEach(async () => {
    [here, there] = (await Promise.all([database.open(), database.open()])).map(({ secrets }) => secrets) as [
      SecretStore,
      SecretStore,
    ];
  });

  it.each([
    ["put", () => here.put([NEW])],
    ["replace", () => here.replace(OLD, NEW)],
  ])(
    "changes after the writes under it have ended, so that the rotation finds them: %s",
    async (_way, change) => {
      await here.bringInForce("k1", null);
      await here.put([OLD]);
      const order: string[] = [];
      let all: Promise<unknown> = Promise.resolve();
      await database.holding("SELECT 1 FROM secrets FOR UPDATE", async () => {
        const written = change().then(() => order.push("written"));
        // The write has read the key, and waits for the row.
        await database.untilWaiting(1);
        const rotated = there.bringInForce("k2", "k1").then((keyId) => order.push(keyId));
        all = Promise.all([written, rotated]);
        const waiting =
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while (order.length === 0 && (await database.query(waiting)).length < 2);
      });
      await all;
      expect(order).toEqual(["written", "k2"]);
      expect(await there.sealedByOthers("k2", null, 10)).toEqual([NEW]);
    },
  );

  it("stays in force for a node without it while the first secret is written under it", async () => {
    await here.bringInForce("k1", null);
    let all: Promise<unknown> = Promise.resolve();
    const slot =
      "INSERT INTO secrets (app, client_id, name, key_id, sealed) VALUES ('defi', 'web', 'A', 'k1', '')";
    await database.holding(slot, async () => {
      const written = here.put([NEW]);
      await database.untilWaiting(1);
      all = Promise.all([written, there.bringInForce("k2", null)]);
      await database.untilWaiting(2);
    });
    expect(await all).toEqual(["k1", "k1"]);
  });

  it("is one key if two nodes bring their first key in force, and one has sealed with it", async () => {
    let second: Promise<string> = Promise.resolve("");
    await database.holding("INSERT INTO secret_key_in_force (one, key_id) VALUES (1, 'k1')", async (run) => {
      second = there.bringInForce("k2", null);
      await database.untilWaiting(1);
      await run(
        "INSERT INTO secrets (app, client_id, name, key_id, sealed) VALUES ('defi', 'web', 'A', 'k1', '')",
      );
      await run("COMMIT");
    });
    expect(await second).toBe("k1");
    expect(await here.keyInForce()).toBe("k1");
  });
});
