// The row of a session: its columns, in one place, and how they are written.

import type { SessionRecord } from "../../core/session.ts";
import { retentionOf } from "../rows.ts";
import { prepareInsert, prepareUpdate, type Row } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import type { SessionState } from "./session-state.ts";
import { together } from "./together.ts";

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
} as const;

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
        ...changing(session, at),
        session.key,
        session.id,
        session.life,
        session.createdAt,
      ]),
    ),
    update(
      connection,
      changed.map(({ state: { session }, at }) => [...changing(session, at), session.key]),
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

/** Values of the columns that change, in their order. */
function changing(session: SessionRecord, at: number): Row {
  return [
    session.app,
    session.title,
    session.titleSource,
    session.status,
    session.model,
    session.modelChosen ? 1 : 0,
    session.utilityModel,
    session.publicKey,
    session.userState === null ? null : JSON.stringify(session.userState),
    session.head,
    session.messageCount,
    session.turnCount,
    session.epoch,
    session.updatedAt,
    at,
    retentionOf(session),
  ];
}
