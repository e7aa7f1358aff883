// Sizes of sessions that an older version left uncounted or counted wrong.

import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "../harness.ts";
import { wireBytesOf } from "@colloquy/engine/internal/core/message";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import {
  target,
  existing,
  open,
  rename,
  chat,
  startTurn,
  complete,
  record,
  messagesOf,
  allEvents,
} from "./fixtures/scenario.ts";

export interface OpenedDatabase {
  readonly store: Store;
  /** Runs a statement without the store, as a node of another version would. */
  execute(sql: string): Promise<unknown>;
}

/** Opens an empty store, which is closed after the test. */
export function describeSizes(openDatabase: () => Promise<OpenedDatabase>): void {
  describe("sizes of sessions", () => {
    let store: Store;
    let execute: OpenedDatabase["execute"];
    let id: string;
    beforeEach(async () => {
      ({ store, execute } = await openDatabase());
      id = randomUUID();
      await complete(store, await startTurn(store, id, "größer"), "hi");
    });

    /** Removes the sizes, as after migration 0005 of an older version's sessions. */
    const uncount = () =>
      execute("UPDATE sessions SET message_bytes = NULL, event_bytes = NULL, retention = 2");
    const eventBytes = async () => {
      const events = await allEvents(store, id);
      return events.reduce((sum, { event }) => sum + Buffer.byteLength(JSON.stringify(event)), 0);
    };

    it("are counted once, in batches", async () => {
      for (let n = 0; n < 2; n += 1) await open(store, target(randomUUID()));
      await uncount();
      expect(await store.sessions.countSizes(2)).toBe(2);
      expect(await store.sessions.countSizes(2)).toBe(1);
      expect(await store.sessions.countSizes(2)).toBe(0);
      const counted = await record(store, id);
      expect(counted.eventBytes).toBe(await eventBytes());
      const messages = await messagesOf(store, id);
      const bytes = messages.reduce((sum, message) => sum + wireBytesOf(message), 0);
      expect(Math.abs((counted.messageBytes ?? 0) - bytes)).toBeLessThan(40 * messages.length);
      expect(await record(store, id)).toMatchObject({ messageBytes: expect.any(Number) });
    });

    it("are counted from 0 in a new session", async () => {
      const { session } = (await open(store, target(randomUUID())))!;
      expect(await record(store, session.id)).toMatchObject({ messageBytes: 0, eventBytes: 0 });
    });

    it("stay uncounted until cleanup counts them, even if the session changes", async () => {
      await uncount();
      expect((await chat(store, id, "more", { maxMessageBytes: 1 })).outcome.kind).toBe("accepted");
      await rename(store, existing(id), "Mine");
      expect(await store.events.trim({ keepCount: 1, keepAfter: Number.MAX_SAFE_INTEGER, limit: 10 })).toBe(
        1,
      );
      expect(await record(store, id)).toMatchObject({ messageBytes: null, eventBytes: null });
      await store.sessions.countSizes(10);
      expect((await record(store, id)).eventBytes).toBe(await eventBytes());
    });

    it("are counted together with the expiry, so that an empty session with a wallet is removed soon", async () => {
      const empty = randomUUID();
      await open(store, target(empty), { userState: null, publicKey: "0xa" });
      await uncount();
      const expired = () =>
        store.sessions.expire({ emptyBefore: Number.MAX_SAFE_INTEGER, unboundBefore: 0, limit: 10 });
      expect(await expired()).toEqual([]);
      await store.sessions.countSizes(10);
      expect(await expired()).toMatchObject([{ id: empty }]);
    });

    it("are corrected when a log below its count is trimmed, which happens only after the log has grown", async () => {
      await execute("UPDATE sessions SET event_bytes = 9000000");
      await open(store, existing(id));
      expect((await record(store, id)).eventBytes).toBe(9_000_000);
      await rename(store, existing(id), "Mine");
      expect((await record(store, id)).eventBytes).toBe(await eventBytes());
      expect(await store.events.after(id, 0, 1)).toMatchObject({ floor: 0 });
    });
  });
}
