// The functions that the worker runs, by the names that open.ts sends: commands and port methods.

import type { Selection } from "../../core/commands/index.ts";
import { makeShared } from "../shared-ports.ts";
import { prepareUsed } from "./admin.ts";
import type { OwnPorts, Synchronous } from "./calls.ts";
import { type Prepare, prepareWork, type RunWork } from "./database.ts";
import { prepareEvents } from "./events.ts";
import { prepareSelections } from "./selections.ts";
import { prepareSessions } from "./sessions.ts";
import type { Transaction } from "./transaction.ts";
import { prepareTurns } from "./turns.ts";

/** Runs the method of a call. The caller's types have checked its parameters (open.ts). */
type Run = (at: number, ...parameters: never[]) => unknown;
export type Methods = Pick<ReadonlyMap<string, Run>, "get">;

/** Returns the methods that are written for both databases. */
export function prepareShared(prepare: Prepare): Methods {
  return named(sharedMethods(prepareWork(prepare)));
}

function sharedMethods(work: RunWork) {
  return makeShared(
    (_name, method): Run =>
      (at, ...parameters) =>
        work(method.work(at as never, ...parameters)),
  );
}

function named(ports: Readonly<Record<string, Readonly<Record<string, Run>>>>): Map<string, Run> {
  return new Map(
    Object.entries(ports).flatMap(([port, methods]) =>
      Object.entries(methods).map(([name, run]) => [`${port}.${name}`, run] as const),
    ),
  );
}

export function prepareMethods(prepare: Prepare, transaction: Transaction): Methods {
  const work = prepareWork(prepare);
  const own: { readonly [P in keyof OwnPorts]: Synchronous<OwnPorts[P]> } = {
    sessions: prepareSessions(prepare, transaction),
    turns: prepareTurns(prepare, transaction),
    events: prepareEvents(prepare),
  };
  const shared = sharedMethods(work);
  const admin = { ...shared["admin"], used: prepareUsed(prepare, work) };
  const select = prepareSelections(prepare, work);
  const count = prepare<[]>("UPDATE sequences SET value = value + 1 WHERE name = 'probe'");
  const commands: Readonly<Record<string, Run>> = {
    execute: transaction.execute,
    executeEach: (at, selection: Selection) =>
      select(at, selection).flatMap((command) => transaction.executeSelected(at, command) ?? []),
    probe: () => void count.run(),
    // The worker purges after the commit.
    purge: () => undefined,
  };
  return new Map([...Object.entries(commands), ...named({ ...own, ...shared, admin } as never)]);
}
