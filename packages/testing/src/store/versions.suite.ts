import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { existing, rename, chat, startTurn, identityOf, complete, record } from "./fixtures/scenario.ts";

export function describeVersions(openStore: OpenStore): void {
  describe("session versions", () => {
    const given = givenStore(openStore, "all");
    const newId = () => randomUUID();
    const versionOf = async (id: string) => (await given.store.sessions.versions([id]))[0];

    it("are those of the existing sessions", async () => {
      const one = newId();
      const other = newId();
      await chat(given.store, one, "hello");
      await startTurn(given.store, other, "hello", { app: "shop" });
      const versions = await given.store.sessions.versions([other, newId(), one]);
      const expected = [];
      for (const id of [one, other]) {
        const { incarnation, app, head, epoch } = await record(given.store, id);
        expected.push({ id, incarnation, app, head, epoch, streamed: null });
      }
      expect(versions.toSorted((left, right) => left.head - right.head)).toEqual(
        expected.toSorted((left, right) => left.head - right.head),
      );
      expect(await given.store.sessions.versions([])).toEqual([]);
    });

    it("change with everything that a snapshot shows", async () => {
      const id = newId();
      const turn = await startTurn(given.store, id, "hello");
      const seen = [await versionOf(id)];
      await rename(given.store, existing(id), "other");
      seen.push(await versionOf(id));
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "so " }]);
      seen.push(await versionOf(id));
      await given.store.turns.checkpoint([{ turn, offset: 3, text: "far" }]);
      seen.push(await versionOf(id));
      // A checkpoint whose response was lost is sent again together with later text.
      await given.store.turns.checkpoint([{ turn, offset: 3, text: "far as" }]);
      seen.push(await versionOf(id));
      await complete(given.store, turn, "so far as that");
      seen.push(await versionOf(id));
      expect(new Set(seen.map((version) => JSON.stringify(version))).size).toBe(seen.length);
      expect(seen.at(-1)?.streamed).toBeNull();
    });

    it("are returned with the text that they refer to", async () => {
      const id = newId();
      expect(await given.store.sessions.streamedText(id)).toBeNull();
      const turn = await startTurn(given.store, id, "hello");
      const { incarnation, epoch, head } = await record(given.store, id);
      expect(await given.store.sessions.streamedText(id)).toEqual({
        incarnation,
        epoch,
        head,
        text: "",
        streamed: null,
      });
      await given.store.turns.checkpoint([{ turn: identityOf(turn), offset: 0, text: "on 👍 " }]);
      await given.store.turns.checkpoint([{ turn: identityOf(turn), offset: 6, text: "and of" }]);
      await given.store.turns.checkpoint([{ turn: identityOf(turn), offset: 10, text: "on" }]);
      const streamed = await given.store.sessions.streamedText(id);
      expect(streamed).toEqual({
        incarnation,
        epoch,
        head,
        text: "on 👍 and on",
        streamed: (await versionOf(id))?.streamed,
      });
      await complete(given.store, turn, "on and on");
      expect(await given.store.sessions.streamedText(id)).toMatchObject({ text: "", streamed: null });
    });
  });
}
