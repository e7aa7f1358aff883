// npm run torture -- --minutes 2 --seed 1 [--kills 40] [--people 24] [--plant NAME] [--expect-failure]
//
// Kills a real server at random moments while people use it, and then asks whether anything was lost. Ends with exit code 1 when
// something was; with --expect-failure when nothing was, to show with a planted fault that it would be found.

import { join } from "node:path";
import { parseArguments } from "./harness/arguments.ts";
import { runKills } from "./kill-run.ts";
import { PLANTS } from "./planted-faults.ts";
import { withPlanted } from "./plants.ts";
import { describeResult } from "./report.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** Kills a minute when none are asked for. */
const KILLS_PER_MINUTE = 20;

const given = parseArguments(process.argv.slice(2), {
  minutes: 2,
  seed: "1",
  kills: 0,
  people: 24,
  plant: null,
  "expect-failure": false,
});

const run = (main: string) =>
  runKills({
    main,
    seed: given.seed,
    minutes: given.minutes,
    kills: given.kills > 0 ? given.kills : Math.ceil(given.minutes * KILLS_PER_MINUTE),
    people: given.people,
    untilFirstViolation: given["expect-failure"],
  });

const plant = given.plant === null ? null : PLANTS[given.plant];
if (plant === undefined) throw new Error(`--plant takes one of: ${Object.keys(PLANTS).join(", ")}`);
if (plant !== null) console.log(`Planted: ${plant.fault}`);
const result =
  plant === null
    ? await run(join(ROOT, "packages", "server", "src", "main.ts"))
    : await withPlanted(ROOT, plant, run);
console.log(describeResult(result));

const failed = result.violations.length > 0;
if (given["expect-failure"]) {
  console.log(
    failed ? "The fault was found, as it should be." : "NOTHING WAS FOUND, although a failure was expected.",
  );
}
process.exit(failed === given["expect-failure"] ? 0 : 1);
