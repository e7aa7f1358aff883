// The row of a session: its columns, in one place, and how they are written.

import { changingCells, type ChangingColumn } from "../session-cells.ts";
import { prepareInsert, prepareUpdate, type Columns } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import type { SessionState } from "./session-state.ts";
import { together } from "./together.ts";

/** In the order of their cells. */
const CHANGING = {
  app: "text",
  title: "text",
  title_source: "text",
  status: "text",
  model: "text",
  model_chosen: "smallint",
  utility_model: "text",
  public_key: "text",
  user_state: "text",
  head: "bigint",
  message_count: "bigint",
  turn_count: "bigint",
  epoch: "bigint",
  updated_at: "bigint",
  used_at: "bigint",
  retention: "smallint",
} as const satisfies Record<ChangingColumn, Columns[string]>;

const insert = prepareInsert("sessions", {
  ...CHANGING,
  key: "bigint",
  id: "text",
  life: "text",
  created_at: "bigint",
});
const update = prepareUpdate("sessions", CHANGING, { key: "bigint" });
const noteUse = prepareUpdate("sessions", { used_at: "bigint" }, { key: "bigint" });

/** Writes sessions as they are after a transaction, with the time of their last use. */
export async function writeSessions(
  connection: Connection,
  used: readonly { readonly state: SessionState; readonly at: number }[],
): Promise<void> {
  const born = used.filter(({ state }) => state.before === null);
  const changed = used.filter(({ state }) => state.before !== null && state.before !== state.session);
  const unchanged = used.filter(({ state }) => state.before === state.session);
  await together([
    insert(
      connection,
      inOrder(born).map(({ state: { session }, at }) => [
        ...changingCells(session, at),
        session.key,
        session.id,
        session.life,
        session.createdAt,
      ]),
    ),
    update(
      connection,
      changed.map(({ state: { session }, at }) => [...changingCells(session, at), session.key]),
    ),
    noteUse(
      connection,
      unchanged.map(({ state: { session }, at }) => [at, session.key]),
    ),
  ]);
}

/** In the order of their ids, so that two nodes that create the same sessions wait for each other and not in a circle. */
function inOrder<Used extends { readonly state: SessionState }>(used: readonly Used[]): readonly Used[] {
  return used.toSorted((left, right) => (left.state.session.id < right.state.session.id ? -1 : 1));
}
