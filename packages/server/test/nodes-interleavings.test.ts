// Random interleavings of actions of people, models, crashes and networks on a few sessions and three nodes,
// checked against contract section 3. fast-check prints the seed and the shortest failing sequence.

import { randomInt } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NODE_COMMANDS, NodesInterleaving, type NodeCommand } from "./nodes-interleaving.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { usePostgres } from "./use-postgres.ts";

const RUNS = Number(process.env["COLLOQUY_NODE_INTERLEAVINGS"] ?? 6);
const server = usePostgres();

const SEED = process.env["COLLOQUY_SEED"];

const command: fc.Arbitrary<NodeCommand> = fc.record({
  name: fc.constantFrom(...NODE_COMMANDS),
  session: fc.nat(1),
  node: fc.nat(2),
  choice: fc.nat(5),
});

describe.skipIf(await isWithoutPostgres())("any interleaving on three nodes", () => {
  it("shows on every node what another has acknowledged, loses and duplicates nothing, and ends with every message answered", {
    timeout: 300_000,
  }, async () => {
    const seed = SEED === undefined ? randomInt(2 ** 31) : Number(SEED);
    process.stdout.write(`COLLOQUY_SEED=${seed}\n`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 10, maxLength: 40, size: "max" }),
        fc.boolean(),
        fc.constantFrom(0, 256 * 1024 * 1024),
        fc.constantFrom(1, 256),
        async (commands, hasBus, memoryBytes, maxRunning) => {
          const interleaving = await NodesInterleaving.start(server, { hasBus, memoryBytes, maxRunning });
          try {
            for (const one of commands) await interleaving.run(one);
            await interleaving.finish();
            expect(await interleaving.violations()).toEqual([]);
          } finally {
            await interleaving.close();
          }
        },
      ),
      {
        numRuns: RUNS,
        seed,
        endOnFailure: true,
        interruptAfterTimeLimit: 240_000,
        markInterruptAsFailure: false,
      },
    );
  });
});
