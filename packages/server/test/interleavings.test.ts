// Random interleavings of actions of people, models, crashes and networks on a few sessions, checked against
// contract sections 3 and 5. Prints the seed and fast-check's shortest failing sequence; COLLOQUY_SEED
// repeats a run.

import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COMMANDS, Interleaving, type Command } from "./interleaving.ts";

/** `npm run nightly` makes more. */
const RUNS = Number(process.env["COLLOQUY_INTERLEAVINGS"] ?? 10);

const SEED = process.env["COLLOQUY_SEED"];

const command: fc.Arbitrary<Command> = fc.record({
  name: fc.constantFrom(...COMMANDS),
  session: fc.nat(2),
  choice: fc.nat(5),
});

describe("any interleaving of chat, interrupt, edit, fork, rename, delete, evict, crash, reconnect, and of requesting and deciding actions", () => {
  it("loses, duplicates and reorders nothing, and ends with every message answered", {
    timeout: 300_000,
  }, async () => {
    const seed = SEED === undefined ? randomInt(2 ** 31) : Number(SEED);
    process.stdout.write(`COLLOQUY_SEED=${seed}\n`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 60, size: "max" }),
        fc.constantFrom(0, 256 * 1024 * 1024),
        fc.constantFrom(1, 2, 256),
        async (commands, memoryBytes, maxRunning) => {
          const directory = await mkdtemp(join(tmpdir(), "colloquy-"));
          const interleaving = await Interleaving.start({ directory, memoryBytes, maxRunning });
          try {
            for (const one of commands) await interleaving.run(one);
            await interleaving.finish();
            expect(await interleaving.violations()).toEqual([]);
          } finally {
            await interleaving.close();
            await rm(directory, { recursive: true });
          }
        },
      ),
      { numRuns: RUNS, seed },
    );
  });
});
