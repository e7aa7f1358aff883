// Moves a store and kills itself after a number of steps. Called with two addresses and that number; exits
// with 0 when done.

import { kill, pid } from "node:process";
import { parseDatabaseAddress, type DatabaseAddress } from "../src/moving/database-address.ts";
import { migrate } from "../src/moving/migrate.ts";

const [from = "", to = "", steps = "1"] = process.argv.slice(2);
let left = Number(steps);

function addressOf(text: string): DatabaseAddress {
  const parsed = parseDatabaseAddress(text);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed.address;
}

await migrate({
  from: addressOf(from),
  to: addressOf(to),
  restart: false,
  at: Date.now(),
  rowsAtOnce: 5,
  onStep: () => {
    left -= 1;
    if (left === 0) kill(pid, "SIGKILL");
  },
});
