import type { DatabaseSync } from "node:sqlite";
import type { TurnStore } from "../../core/ports/driven/turn-store.ts";
import type { Synchronous } from "./calls.ts";
import { prepareHistory } from "./history.ts";
import { prepareLeases } from "./leases.ts";
import type { Transaction } from "./transaction.ts";

export function prepareTurns(database: DatabaseSync, transaction: Transaction): Synchronous<TurnStore> {
  return { ...prepareLeases(database, transaction), history: prepareHistory(database, transaction) };
}
