// A rollback, and nodes of two versions in turn: the previous release works on this version's schema.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chat, newSession, whenIdle } from "../black-box/client.ts";
import { isWithoutPostgres } from "../postgres-server.ts";
import { usePostgres } from "../use-postgres.ts";
import { endProcess, listening, startMain } from "../watched-process.ts";
import { type PreviousRelease, unpackPreviousRelease } from "./previous-release.ts";

const CURRENT = join(import.meta.dirname, "../../src/main.ts");

const IN_TURN = [["question 0"], ["question 0", "question 1"], ["question 0", "question 1", "question 2"]];

let previous: PreviousRelease;
beforeAll(async () => void (previous = await unpackPreviousRelease()), 60_000);
afterAll(() => previous.remove());

/**
 * Chats with this version, the previous one and this one again, each on the data of the one before. Returns the
 * messages that each has found in one session.
 */
async function chatInTurn(environment: Readonly<Record<string, string>>): Promise<readonly unknown[]> {
  const place = await mkdtemp(join(tmpdir(), "colloquy-versions-"));
  const session = newSession();
  const found: unknown[] = [];
  try {
    for (const main of [CURRENT, previous.main, CURRENT]) {
      const started = startMain(main, place, environment);
      try {
        const { address } = await listening(started);
        for (const one of [session, newSession()]) {
          await chat(address, one, `question ${found.length}`);
          const { messages } = await whenIdle(address, one);
          expect(messages.at(-1)).toMatchObject({ sender: "agent", status: "complete" });
          if (one === session) {
            found.push(messages.filter(({ sender }) => sender === "user").map(({ content }) => content));
          }
        }
        started.child.kill("SIGTERM");
        expect(await started.exited()).toEqual({ code: 0, signal: null });
      } finally {
        await endProcess(started);
      }
    }
    return found;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

describe("the previous release", () => {
  it("works on this version's SQLite schema, and this version after it", async () => {
    expect(await chatInTurn({})).toEqual(IN_TURN);
  });
});

describe.skipIf(await isWithoutPostgres())("the previous release on PostgreSQL", () => {
  const postgres = usePostgres();

  it("works on this version's schema, and this version after it", async () => {
    const environment = { COLLOQUY_DATABASE_URL: postgres.url(await postgres.createDatabase()) };
    expect(await chatInTurn(environment)).toEqual(IN_TURN);
  });
});
