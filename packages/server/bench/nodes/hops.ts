// Rows compared with raw hops of the same bus.

import { HOPS_TABLE, type HopsHandlers, type HopsInput } from "../controls/hops.ts";
import { RoleProcess } from "../role.ts";
import { delayRow, type Rounds } from "../rows/delay-row.ts";
import type { Row } from "../table.ts";
import { until, type BenchServers } from "./servers.ts";

/** Maximum ratio to the control. */
const MAX_RATIO = 5;

/** Two bare processes on the bus. */
export interface Hops {
  /** Returns the milliseconds of each hop, with or without the commit of one row before it. */
  measure(count: number, everyMs: number, commits: boolean): Promise<readonly number[]>;
}

export async function startHops(servers: BenchServers): Promise<Hops> {
  const database = await servers.postgres.createDatabase();
  await servers.postgres.query(database, HOPS_TABLE);
  const databaseUrl = servers.postgres.url(database);
  const input: HopsInput = { databaseUrl, natsUrl: servers.natsUrl };
  const [sender, receiver] = [1, 2].map(() => servers.keep(new RoleProcess<HopsHandlers>("hops", input)));
  if (sender === undefined || receiver === undefined) throw new Error("There are two processes");
  await sender.ask("take");
  await receiver.ask("take");
  return {
    async measure(count, everyMs, commits) {
      const sent = await sender.ask("send", { count, everyMs, commits });
      const arrived = new Map<number, number>();
      await until("all hops have arrived", async () => {
        for (const [number, at] of await receiver.ask("take")) arrived.set(number, at);
        return arrived.size === count ? arrived : null;
      });
      return sent.map((at, number) => (arrived.get(number) ?? Number.NaN) - at);
    },
  };
}

/** A row compared with raw hops. */
export function hopRow(name: string, rounds: Rounds): Row {
  return delayRow(name, rounds, MAX_RATIO);
}
