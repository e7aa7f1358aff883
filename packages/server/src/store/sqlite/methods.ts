// The functions that the worker runs, by the names that open.ts sends: commands and port methods.

import type { Selection } from "../../core/commands/index.ts";
import { makeShared } from "../shared-ports.ts";
import { prepareUsed } from "./admin.ts";
import type { OwnPorts, Synchronous } from "./calls.ts";
import { type Prepare, prepareWork } from "./database.ts";
import { prepareEvents } from "./events.ts";
import { prepareSelections } from "./selections.ts";
import { prepareSessions } from "./sessions.ts";
import type { Transaction } from "./transaction.ts";
import { prepareTurns } from "./turns.ts";

/** Runs the method of a call. The caller's types have checked its parameters (open.ts). */
type Run = (at: number, ...parameters: never[]) => unknown;
export type Methods = Pick<ReadonlyMap<string, Run>, "get">;

export function prepareMethods(prepare: Prepare, transaction: Transaction): Methods {
  const work = prepareWork(prepare);
  const own: { readonly [P in keyof OwnPorts]: Synchronous<OwnPorts[P]> } = {
    sessions: prepareSessions(prepare, transaction),
    turns: prepareTurns(prepare, transaction),
    events: prepareEvents(prepare),
  };
  const shared = makeShared(
    (_name, method): Run =>
      (at, ...parameters) =>
        work(method.work(at as never, ...parameters)),
  );
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
  const methods = Object.entries({ ...own, ...shared, admin }).flatMap(([port, named]) =>
    Object.entries<Run>(named).map(([name, run]) => [`${port}.${name}`, run] as const),
  );
  return new Map([...Object.entries(commands), ...methods]);
}
