// npm run torture -- --minutes 2 --seed 1 [--kills 40] [--people 24] [--only disk|kills] [--config FILE]
// [--plant NAME] [--expect-failure]
// npm run torture -- --nodes 3 --seed 1 [--faults 30] [--people 24] [--bus database|nats] [--plant NAME]
// [--expect-failure]
// npm run torture -- --standby 100 --seed 1 [--plant NAME] [--expect-failure]
//
// First verifies with strace and simulated power cuts that acknowledged data is durable. Then kills a real
// server at random moments under load, for so many minutes of readiness, and checks that nothing was lost.
// With --config, the killed server uses the plugins and the backend of that JSON file.
// With --nodes, kills, pauses and disconnects several servers on one PostgreSQL instead, and audits in the
// database who wrote what. With --standby, stops, cuts off and promotes a synchronous standby instead, for so
// many rounds. Exits with 1 if something is wrong; with --expect-failure if nothing is, to show
// that a planted fault is detected.

import { join } from "node:path";
import { canTrace, describeDiskProof, proveDisk } from "./disk/disk-proof.ts";
import { parseArguments } from "./harness/arguments.ts";
import { runKills } from "./kill-run.ts";
import { tooFewAcknowledged } from "./message-counts.ts";
import { runNodes } from "./nodes/node-run.ts";
import { PLANTS } from "./planted-faults.ts";
import { withPlanted } from "./plants.ts";
import { describeResult, type TortureResult } from "./report.ts";
import { describeStandbyResult, runStandby } from "./standby/standby-run.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** Default number of kills per minute. */
const KILLS_PER_MINUTE = 20;

/** Minimum number of acknowledged messages per kill: with fewer, there is too little to lose. */
const LEAST_PER_KILL = 10;

const given = parseArguments(process.argv.slice(2), {
  minutes: 2,
  seed: "1",
  kills: 0,
  people: 24,
  nodes: 0,
  faults: 30,
  bus: "database",
  standby: 0,
  only: null,
  config: null,
  plant: null,
  "expect-failure": false,
});

/** Returns whether all checks passed. */
async function tortureDisk(main: string): Promise<boolean> {
  if (!canTrace()) {
    console.log("strace is not installed, so durability cannot be checked: install it or pass --only kills");
    return false;
  }
  const proof = await proveDisk(main, given.seed);
  console.log(describeDiskProof(proof));
  return proof.unsynced.length + proof.powerCuts.losses.length === 0;
}

/** Returns whether all checks passed. */
async function tortureKills(main: string): Promise<boolean> {
  const result = await runKills({
    main,
    seed: given.seed,
    minutes: given.minutes,
    kills: given.kills > 0 ? given.kills : Math.ceil(given.minutes * KILLS_PER_MINUTE),
    people: given.people,
    config: given.config,
    untilFirstViolation: given["expect-failure"],
  });
  console.log(describeResult(result));
  const isBusy = result.messages.acknowledged >= LEAST_PER_KILL * result.faults.count;
  if (!isBusy) console.log("Too few messages were acknowledged.");
  return hasDecisions(result) && result.violations.length === 0 && isBusy;
}

function hasDecisions({ done }: TortureResult): boolean {
  if (done.decisions === 0) console.log("No request to approvers was decided.");
  return done.decisions > 0;
}

/** Returns whether all checks passed. */
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
  return hasDecisions(result) && result.violations.length === 0 && tooFew.length === 0;
}

/** Returns whether all checks passed. */
async function tortureStandby(main: string): Promise<boolean> {
  const result = await runStandby({
    main,
    seed: given.seed,
    rounds: given.standby,
    untilFirstViolation: given["expect-failure"],
    onNews: (text) => console.log(text),
  });
  console.log(describeStandbyResult(result, given.seed));
  const { messages, steps, decisions } = result.counts;
  const isBusy = Math.min(messages, steps, decisions) >= result.rounds;
  if (!isBusy) console.log("Too little was acknowledged.");
  return result.violations.length === 0 && isBusy;
}

async function torture(main: string): Promise<boolean> {
  if (given.standby > 0) return await tortureStandby(main);
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
    well ? "NO FAILURE WAS FOUND, although one was expected." : "The fault was found, as expected.",
  );
}
process.exit(well === expected ? 0 : 1);
