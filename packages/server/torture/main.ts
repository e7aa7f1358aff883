// npm run torture -- --minutes 2 --seed 1 [--kills 40] [--people 24] [--only disk|kills] [--plant NAME] [--expect-failure]
// npm run torture -- --nodes 3 --seed 1 [--faults 30] [--people 24] [--bus database|nats] [--plant NAME] [--expect-failure]
//
// First shows, under strace and by power cuts, that what is acknowledged is on the disk. Then kills a real server at random
// moments while people use it, for so many minutes in which it is ready, and asks whether anything was lost. With --nodes
// several servers on one PostgreSQL are killed, paused and cut off instead, and the database is asked who wrote what. Ends with
// exit code 1 when something is wrong; with --expect-failure when nothing is, to show with a planted fault that it would be found.

import { join } from "node:path";
import { canTrace, describeDiskProof, proveDisk } from "./disk/disk-proof.ts";
import { parseArguments } from "./harness/arguments.ts";
import { runKills } from "./kill-run.ts";
import { tooFewAcknowledged } from "./message-counts.ts";
import { runNodes } from "./nodes/node-run.ts";
import { PLANTS } from "./planted-faults.ts";
import { withPlanted } from "./plants.ts";
import { describeResult } from "./report.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** Kills a minute when none are asked for. */
const KILLS_PER_MINUTE = 20;

/** Messages that must have been acknowledged for each kill: with fewer, nearly nothing was there to be lost. */
const LEAST_PER_KILL = 10;

const given = parseArguments(process.argv.slice(2), {
  minutes: 2,
  seed: "1",
  kills: 0,
  people: 24,
  nodes: 0,
  faults: 30,
  bus: "database",
  only: null,
  plant: null,
  "expect-failure": false,
});

/** Answers whether all is well. */
async function tortureDisk(main: string): Promise<boolean> {
  if (!canTrace()) {
    console.log(
      "strace is not installed, so nothing can be shown about the disk: install it or pass --only kills",
    );
    return false;
  }
  const proof = await proveDisk(main, given.seed);
  console.log(describeDiskProof(proof));
  return proof.unsynced.length + proof.powerCuts.losses.length === 0;
}

/** Answers whether all is well. */
async function tortureKills(main: string): Promise<boolean> {
  const result = await runKills({
    main,
    seed: given.seed,
    minutes: given.minutes,
    kills: given.kills > 0 ? given.kills : Math.ceil(given.minutes * KILLS_PER_MINUTE),
    people: given.people,
    untilFirstViolation: given["expect-failure"],
  });
  console.log(describeResult(result));
  const isBusy = result.messages.acknowledged >= LEAST_PER_KILL * result.faults.count;
  if (!isBusy) console.log("Fewer messages were acknowledged than should have been.");
  return result.violations.length === 0 && isBusy;
}

/** Answers whether all is well. */
async function tortureNodes(main: string): Promise<boolean> {
  const result = await runNodes({
    main,
    seed: given.seed,
    nodes: given.nodes,
    faults: given.faults,
    people: given.people,
    isOnNats: given.bus === "nats",
    untilFirstViolation: given["expect-failure"],
    onNews: (text) => console.log(text),
  });
  console.log(describeResult(result));
  const tooFew = tooFewAcknowledged(result.messages);
  for (const line of tooFew) console.log(line);
  return result.violations.length === 0 && tooFew.length === 0;
}

async function torture(main: string): Promise<boolean> {
  if (given.nodes > 0) return await tortureNodes(main);
  const disk = given.only === "kills" || (await tortureDisk(main));
  const kills = given.only === "disk" || (await tortureKills(main));
  return disk && kills;
}

if (given.only !== null && !["disk", "kills"].includes(given.only))
  throw new Error("--only takes disk or kills");
if (!["database", "nats"].includes(given.bus)) throw new Error("--bus takes database or nats");
const plant = given.plant === null ? null : PLANTS[given.plant];
if (plant === undefined) throw new Error(`--plant takes one of: ${Object.keys(PLANTS).join(", ")}`);
if (plant !== null) console.log(`Planted: ${plant.fault}`);
const well =
  plant === null
    ? await torture(join(ROOT, "packages", "server", "src", "main.ts"))
    : await withPlanted(ROOT, plant, torture);

const expected = !given["expect-failure"];
if (!expected) {
  console.log(
    well ? "NOTHING WAS FOUND, although a failure was expected." : "The fault was found, as it should be.",
  );
}
process.exit(well === expected ? 0 : 1);
