// One transaction for all changes that wait: what makes a durable write cheap. When one of them fails, or the transaction itself, all are
// undone and repeated one by one, each in a transaction of its own, so that one bad row never fails its neighbours (contract section 3).

import type { ChangeNeeds } from "./calls.ts";
import type { Connections } from "./connections.ts";
import { writeChanges } from "./draft-writer.ts";
import { concernsAll, isWorthRepeating } from "./failures.ts";
import { Transaction } from "./transaction.ts";

/** A change of one session that waits to be committed. */
export interface Change {
  readonly sessionId: string;
  readonly needs: ChangeNeeds;
  /** Its time; `null` where the database's counts. */
  readonly at: number | null;
  decide(transaction: Transaction, at: number): unknown;
}

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** How often a transaction is run that others have kept from ending. */
const TIMES = 5;

/** Commits changes and answers their outcomes, in their order, when they are on disk. */
export async function commitChanges(
  connections: Connections,
  changes: readonly Change[],
): Promise<readonly Outcome[]> {
  if (changes.length > 1) {
    try {
      return (await commitTogether(connections, changes)).map((value) => ({ value }));
    } catch (error) {
      if (concernsAll(error)) return changes.map(() => ({ error }));
    }
  }
  const outcomes: Outcome[] = [];
  for (const change of changes) {
    try {
      const [value] = await repeated(() => commitTogether(connections, [change]));
      outcomes.push({ value });
    } catch (error) {
      outcomes.push({ error });
    }
  }
  return outcomes;
}

/** Runs a transaction again that a deadlock or somebody who was faster has undone. */
export async function repeated<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let times = 1; ; times += 1) {
    try {
      return await run();
    } catch (error) {
      if (times === TIMES || !isWorthRepeating(error)) throw error;
    }
  }
}

function commitTogether(connections: Connections, changes: readonly Change[]): Promise<readonly unknown[]> {
  const needs = new Map<string, ChangeNeeds[]>();
  for (const change of changes) {
    const others = needs.get(change.sessionId);
    if (others === undefined) needs.set(change.sessionId, [change.needs]);
    else others.push(change.needs);
  }
  const births = changes.filter((change) => change.needs.mayBegin === true).map(({ sessionId }) => sessionId);
  return connections.write(async (connection) => {
    const transaction = await Transaction.begin(connection, {
      sessions: { ids: [...needs.keys()] },
      needsOf: ({ id }) => needs.get(id) ?? [],
      epochs: changes.reduce((sum, change) => sum + (change.needs.epochs ?? 0), 0),
      births: [...new Set(births)],
    });
    const result = changes.map((change) => change.decide(transaction, change.at ?? transaction.at));
    await writeChanges(connection, transaction.changes);
    return { result, transaction: transaction.name };
  });
}
