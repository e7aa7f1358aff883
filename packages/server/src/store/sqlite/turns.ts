import type { DatabaseSync } from "node:sqlite";
import type { TurnPort } from "../command-methods.ts";
import type { Synchronous } from "./calls.ts";
import { prepareHistory } from "./history.ts";
import { prepareLeases } from "./leases.ts";
import type { Transaction } from "./transaction.ts";

export function prepareTurns(database: DatabaseSync, transaction: Transaction): Synchronous<TurnPort> {
  return { ...prepareLeases(database, transaction), history: prepareHistory(database, transaction) };
}
