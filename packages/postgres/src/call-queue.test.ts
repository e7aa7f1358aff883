import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { usePostgres } from "../../server/test/use-postgres.ts";
import {
  NOTHING,
  chat,
  existing,
  load,
  startTurn,
  step,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { openPostgresStore } from "./open.ts";

describe.skipIf(await isWithoutPostgres())("queued calls", () => {
  const server = usePostgres();
  let url: string;
  beforeAll(async () => void (url = server.url(await server.createDatabase())));

  it("are all answered beyond the limit of calls in progress, even if no other call follows", async () => {
    const store = await openPostgresStore({ url, lanes: 1, mostTogether: 2 });
    const ids = Array.from({ length: 7 }, () => randomUUID());
    const answers = ids.map((id) => chat(store, id, "hello"));
    await setImmediate();
    const late = chat(store, randomUUID(), "hello");
    expect((await Promise.all([...answers, late])).every(({ created }) => created)).toBe(true);
    await store.close();
  });

  it("see each other in one transaction as in several", async () => {
    const store = await openPostgresStore({ url });
    const id = randomUUID();
    const turn = await startTurn(store, id, "hello");
    await store.turns.checkpoint([{ turn, offset: 0, text: "Let me" }]);
    const calls = [
      store.execute({ kind: "open", target: existing(id, true), input: NOTHING }),
      store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Let me see."), calls: [], actions: [] },
      }),
      store.execute({ kind: "complete", target: { turn }, input: { step: step(2, "It is so.") } }),
      store.execute({ kind: "open", target: existing(id, true), input: NOTHING }),
    ] as const;
    const [streaming, , , ended] = await Promise.all(calls);
    expect(streaming?.loaded).toMatchObject({
      checkpointed: "Let me",
      messages: [{}, { status: "streaming" }],
    });
    expect(ended?.loaded).toMatchObject({
      checkpointed: "",
      messages: [{}, { content: "Let me see.\n\nIt is so.", status: "complete" }],
    });
    expect(await load(store, id)).toEqual(ended?.loaded);
    await store.close();
  });

  it("change a session only after earlier readers of it are done", async () => {
    const store = await openPostgresStore({ url, statementMs: 120_000 });
    const id = randomUUID();
    await store.execute({ kind: "open", target: target(id), input: NOTHING });
    const done: string[] = [];
    const calls: Promise<unknown>[] = [];
    await server.holding(databaseOf(url), "LOCK TABLE messages IN ACCESS EXCLUSIVE MODE", async () => {
      calls.push(store.sessions.messages(id, null, 10, null).then(() => done.push("read")));
      await server.untilWaiting(databaseOf(url));
      calls.push(
        store
          .execute({ kind: "edit", target: existing(id), input: { title: "later" } })
          .then(() => done.push("renamed")),
      );
      // Enough time for a change that does not wait.
      for (let count = 0; count < 20; count += 1) await store.probe();
      expect(done).toEqual([]);
    });
    await Promise.all(calls);
    expect(done).toEqual(["read", "renamed"]);
    await store.close();
  });
});

function databaseOf(url: string): string {
  return url.slice(url.lastIndexOf("/") + 1);
}
