import type { TurnStore } from "../../core/ports/driven/turn-store.ts";
import type { Calls } from "./calls.ts";
import { historyWith } from "./history.ts";
import { leasesOf } from "./leases.ts";

export function turnsOf(calls: Calls): TurnStore {
  return { ...leasesOf(calls), history: historyWith(calls) };
}
