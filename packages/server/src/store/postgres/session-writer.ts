// The row of a session: its columns, in one place, and how they are written.

import { changingCells, lastingCells, type ChangingColumn } from "../session-cells.ts";
import { prepareInsert, prepareUpdate, type Columns, type Write } from "./bulk.ts";
import type { SessionState } from "./session-state.ts";

/** In the order of their cells. */
const CHANGING = {
  app: "text",
  title: "text",
  title_source: "text",
  status: "text",
  model: "text",
  model_chosen: "smallint",
  model_app: "text",
  utility_model: "text",
  public_key: "text",
  user_state: "text",
  pinned: "smallint",
  head: "bigint",
  message_count: "bigint",
  turn_count: "bigint",
  message_bytes: "bigint",
  event_bytes: "bigint",
  epoch: "bigint",
  updated_at: "bigint",
  used_at: "bigint",
  retention: "smallint",
} as const satisfies Record<ChangingColumn, Columns[string]>;

const insert = prepareInsert("sessions", {
  ...CHANGING,
  key: "bigint",
  id: "text",
  spelling: "text",
  life: "text",
  created_at: "bigint",
});
const update = prepareUpdate("sessions", CHANGING, { key: "bigint" });
const noteUse = prepareUpdate("sessions", { used_at: "bigint" }, { key: "bigint" });

/** Writes sessions as they are after a transaction, with the time of their last use. */
export function writesOfSessions(
  used: readonly { readonly state: SessionState; readonly at: number }[],
): readonly Write[] {
  const born = used.filter(({ state }) => state.before === null);
  const changed = used.filter(({ state }) => state.before !== null && state.before !== state.session);
  const unchanged = used.filter(({ state }) => state.before === state.session);
  return [
    insert(
      inOrder(born).map(({ state: { session }, at }) => [
        ...changingCells(session, at),
        ...lastingCells(session),
      ]),
    ),
    update(changed.map(({ state: { session }, at }) => [...changingCells(session, at), session.key])),
    noteUse(unchanged.map(({ state: { session }, at }) => [at, session.key])),
  ];
}

/** In the order of their ids, so that two nodes that create the same sessions wait for each other and not in a circle. */
function inOrder<Used extends { readonly state: SessionState }>(used: readonly Used[]): readonly Used[] {
  return used.toSorted((left, right) => (left.state.session.id < right.state.session.id ? -1 : 1));
}
