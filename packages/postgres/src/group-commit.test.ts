import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { usePostgres } from "../../server/test/use-postgres.ts";
import { NOTHING, record, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import { PASSED_OVER } from "./calls.ts";
import { Connections, type Connection, type Written } from "./connections.ts";
import { commitChanges, type Change } from "./group-commit.ts";
import { openPostgresStore } from "./open.ts";
import { lockSessions } from "./session-locks.ts";

/** Connections with a hook before each of their transactions. */
class SteppedConnections extends Connections {
  before: (transaction: number) => Promise<void> = () => Promise.resolve();
  #transactions = 0;

  override async write<Result>(work: (connection: Connection) => Promise<Written<Result>>): Promise<Result> {
    this.#transactions += 1;
    await this.before(this.#transactions);
    return await super.write(work);
  }
}

describe.skipIf(await isWithoutPostgres())("changes repeated one by one", () => {
  const server = usePostgres();

  it("keep the order of a session that was locked when its first change arrived", async () => {
    const database = await server.createDatabase();
    const url = server.url(database);
    const store = await openPostgresStore({ url });
    const [held, other] = [randomUUID(), randomUUID()];
    for (const id of [held, other]) await store.execute({ kind: "open", target: target(id), input: NOTHING });
    const connections = new SteppedConnections({ url });
    const isFree = Promise.withResolvers<void>();
    const isOver = Promise.withResolvers<void>();
    const holding = server.holding(
      database,
      `SELECT 1 FROM sessions WHERE id = '${held}' FOR UPDATE`,
      async () => {
        isOver.resolve();
        await isFree.promise;
      },
    );
    await isOver.promise;
    // The transactions are: all changes together, then the failing one, then the locked ones. Releases the
    // lock before any later one.
    connections.before = async (transaction) => {
      if (transaction < 4) return;
      isFree.resolve();
      await holding;
    };
    const outcomes = await commitChanges(connections, [
      changeOf(other, () => {
        throw new Error("a defect");
      }),
      changeOf(held, () => "first"),
      changeOf(held, () => "second"),
      changeOf(other, () => "another"),
    ]);
    expect(outcomes).toEqual([
      { error: new Error("a defect") },
      PASSED_OVER,
      PASSED_OVER,
      { value: "another" },
    ]);
    expect((await record(store, held)).head).toBe(0);
    await connections.end();
    await store.close();
  });

  it("ignore the locks of the failed transaction", async () => {
    const url = server.url(await server.createDatabase());
    const store = await openPostgresStore({ url });
    const id = randomUUID();
    await store.execute({ kind: "open", target: target(id), input: NOTHING });
    const connections = new Connections({ url });
    let used: Connection | null = null;
    const failed = connections.write(async (connection) => {
      used = connection;
      await lockSessions(connection, { ids: [id] }, "waits");
      throw new Error("a defect");
    });
    await expect(failed).rejects.toThrow("a defect");
    // Rolled back at once, not when the server notices the closed connection.
    expect((used as unknown as Client).getTransactionStatus()).toBe("I");
    await connections.end();
    await store.close();
  });
});

function changeOf(sessionId: string, decide: () => string): Change {
  return { sessionId, needs: {}, mayCreate: false, at: null, decide };
}
