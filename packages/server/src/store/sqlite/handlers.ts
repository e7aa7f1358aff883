// Commands and every method of the ports, as the worker answers them.

import type { DatabaseSync } from "node:sqlite";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { Selection } from "../../core/commands/selections.ts";
import { prepareActions } from "./actions.ts";
import { prepareAdmin } from "./admin.ts";
import { METHODS, type Call, type Method } from "./calls.ts";
import { prepareEvents } from "./events.ts";
import { prepareJobs } from "./jobs.ts";
import { prepareKeys } from "./keys.ts";
import { prepare } from "./statement.ts";
import { prepareSelections } from "./selections.ts";
import { prepareSecrets } from "./secrets.ts";
import { prepareSessions } from "./sessions.ts";
import type { Transaction } from "./transaction.ts";
import { prepareTurns } from "./turns.ts";

export interface Handler {
  readonly writes: boolean;
  run(call: Call): unknown;
  /** Answers a write without writing, where that is possible: `null` where it is not. */
  readonly withoutWriting: ((call: Call) => { readonly value: unknown } | null) | null;
}

type AnyMethod = (at: number, ...parameters: never[]) => unknown;

export function prepareHandlers(
  database: DatabaseSync,
  transaction: Transaction,
): ReadonlyMap<Method, Handler> {
  const ports: Record<keyof typeof METHODS, Readonly<Record<string, AnyMethod>>> = {
    sessions: { ...prepareSessions(database, transaction) },
    turns: { ...prepareTurns(database, transaction) },
    actions: { ...prepareActions(database, transaction) },
    events: { ...prepareEvents(database) },
    jobs: { ...prepareJobs(database) },
    keys: { ...prepareKeys(database) },
    secrets: { ...prepareSecrets(database) },
    admin: { ...prepareAdmin(database) },
  };
  const handlers = new Map<Method, Handler>();
  for (const [aggregate, methods] of Object.entries(METHODS)) {
    for (const [name, kind] of Object.entries(methods)) {
      const run = ports[aggregate as keyof typeof METHODS][name];
      if (run === undefined) throw new Error(`The store has no method ${aggregate}.${name}`);
      const method = `${aggregate}.${name}`;
      handlers.set(method, { writes: kind === "write", run: invoke(run), withoutWriting: null });
    }
  }
  const select = prepareSelections(database);
  handlers.set("execute", {
    writes: true,
    run: ({ at, parameters }) => transaction.execute(at, commandIn(parameters)),
    withoutWriting: ({ at, parameters }) => {
      const value = transaction.executeWithoutWriting(at, commandIn(parameters));
      return value === undefined ? null : { value };
    },
  });
  handlers.set("executeEach", {
    writes: true,
    run: ({ at, parameters: [selection] }) =>
      select(at, selection as Selection).flatMap((command) => transaction.executeSelected(at, command) ?? []),
    withoutWriting: null,
  });
  const count = prepare<[]>(database, "UPDATE sequences SET value = value + 1 WHERE name = 'probe'");
  handlers.set("probe", { writes: true, run: () => void count.run(), withoutWriting: null });
  return handlers;
}

/** Its types were checked where it was made. */
function commandIn(parameters: readonly unknown[]): SessionCommand {
  return parameters[0] as SessionCommand;
}

/** The parameters come from the proxy of the same port (open.ts), which the compiler has checked there. */
function invoke(method: AnyMethod): (call: Call) => unknown {
  return ({ at, parameters }) => method(at, ...(parameters as never[]));
}
