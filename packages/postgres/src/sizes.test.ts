import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ManualClock } from "@colloquy/testing/internal/manual-clock";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import { NOTHING, record, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import { describeEndedClaims } from "@colloquy/testing/internal/store/ended-claims.suite";
import { describeSizes } from "@colloquy/testing/internal/store/sizes.suite";
import { dropEvents } from "./events.ts";

describe.skipIf(await isWithoutPostgres())("a database of its own", () => {
  const database = useDatabase("the schema");
  const open = () => database.open({ clock: new ManualClock() });

  describeSizes(async () => ({ store: await open(), execute: (sql) => database.query(sql) }));
  describeEndedClaims(async () => {
    const clock = new ManualClock();
    return { store: await database.open({ clock }), clock, execute: (sql) => database.query(sql) };
  });

  it("skips sessions that another transaction has locked, and counts them the next time", async () => {
    const store = await open();
    const [held, free] = [randomUUID(), randomUUID()];
    for (const id of [held, free]) await store.execute({ kind: "open", target: target(id), input: NOTHING });
    await database.query("UPDATE sessions SET message_bytes = NULL, event_bytes = NULL");
    await database.holding(`SELECT 1 FROM sessions WHERE id = '${held}' FOR UPDATE`, async () => {
      expect(await store.sessions.countSizes(10)).toBe(1);
    });
    expect((await record(store, free)).messageBytes).toBe(0);
    expect((await record(store, held)).messageBytes).toBeNull();
    expect(await store.sessions.countSizes(10)).toBe(1);
  });

  it("never decreases the lowest event number when a trim follows a cut", async () => {
    const store = await open();
    const id = randomUUID();
    const { session } = (await store.execute({ kind: "open", target: target(id), input: NOTHING }))!;
    await database.query("UPDATE sessions SET head = 5, event_floor = 3");
    await database.connect().use(dropEvents([{ key: session.key, floor: 2 }]));
    expect(await store.events.after(id, 5, 1)).toMatchObject({ floor: 3 });
  });
});
