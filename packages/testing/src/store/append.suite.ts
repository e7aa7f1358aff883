import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { complete, messagesOf, startTurn, target } from "./fixtures/scenario.ts";

export function describeAppend(openStore: OpenStore): void {
  describe("appended turns", () => {
    const given = givenStore(openStore, "all");
    const call = { id: "c1", name: "look", arguments: { at: "sky" }, output: "blue" };
    const turns = [
      { user: "one", steps: [] },
      {
        user: "look",
        steps: [
          { text: "", calls: [call] },
          { text: "Blue.", calls: [] },
        ],
      },
    ];
    const append = (id: string) =>
      given.store.execute({
        kind: "append",
        target: target(id),
        input: { turns, messageId: randomUUID(), maxMessageBytes: 100_000 },
      });

    it("are finished, and the history of the next turn has them with their steps", async () => {
      const id = randomUUID();
      expect((await append(id))?.outcome).toBe("ok");
      const started = await startTurn(given.store, id, "and?");
      expect(started.number).toBe(3);
      const history = await given.store.turns.history(started, 100_000);
      expect(history?.map(({ state, userMessage }) => `${state} ${userMessage.content}`)).toEqual([
        "complete one",
        "complete look",
        "running and?",
      ]);
      expect(history?.[1]?.steps.map(({ number, text }) => [number, text])).toEqual([
        [1, ""],
        [2, "Blue."],
      ]);
      expect(history?.[1]?.agentMessage).toMatchObject({
        toolCalls: [{ id: "c1", step: 1 }],
        toolResults: [{ call_id: "c1", output: "blue" }],
      });
    });

    it("follow those of the session, which must be idle", async () => {
      const id = randomUUID();
      const started = await startTurn(given.store, id, "hello");
      expect((await append(id))?.outcome).toBe("session_busy");
      await complete(given.store, started, "Hi");
      expect((await append(id))?.outcome).toBe("ok");
      expect((await messagesOf(given.store, id)).map(({ content, turn }) => `${turn} ${content}`)).toEqual([
        "1 hello",
        "1 Hi",
        "2 one",
        "3 look",
        "3 Blue.",
      ]);
    });
  });

  describe("the note of a turn", () => {
    const given = givenStore(openStore, "all");

    it("is stored, and stays when the turn has ended", async () => {
      const id = randomUUID();
      const note = { openai: { store: false } };
      const options = { instructions: "Be brief.", note };
      const started = await startTurn(given.store, id, "hello", { options });
      expect(started.options).toEqual(options);
      await complete(given.store, started, "Hi");
      const [seen] = (await given.store.admin.turns(id, null, 1)) ?? [];
      expect(seen?.turn.options).toEqual({ note });
    });
  });
}
