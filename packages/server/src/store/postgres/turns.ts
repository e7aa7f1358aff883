import type { TurnPort } from "../command-methods.ts";
import type { Calls } from "./calls.ts";
import { historyWith } from "./history.ts";
import { leasesOf } from "./leases.ts";

export function turnsOf(calls: Calls): TurnPort {
  return { ...leasesOf(calls), history: historyWith(calls) };
}
