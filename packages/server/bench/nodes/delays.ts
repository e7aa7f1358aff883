// Delay of an event from its node to a subscriber on another node: streaming text, against one raw hop of the
// same bus, and a rename, against the commit of one row and a hop.

import type { ClientHandlers } from "../load/client.ts";
import { getRequest, jsonRequest, postRequest, randomSessionId } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { inTurn, type RowContext } from "../rows/row.ts";
import type { Row } from "../table.ts";
import { hopRow, startHops } from "./hops.ts";
import { BUSES, until, untilCalls, withServers, type BenchNode, type BusName } from "./servers.ts";

/** Sessions streaming on one node, each with a subscriber on the other. */
const SESSIONS = 20;
const EVERY_MS = 4;
/** Not counted, at the start of each round. */
const WARM_UP = 100;

export async function measureDelays(context: RowContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const bus of BUSES) rows.push(...(await measureOn(bus, context)));
  return rows;
}

interface Spoken {
  readonly node: BenchNode;
  readonly port: number;
  readonly ids: readonly string[];
  readonly names: readonly string[];
  /** Holds the subscribers. */
  readonly client: RoleProcess<ClientHandlers>;
}

function measureOn(bus: BusName, context: RowContext): Promise<readonly Row[]> {
  return withServers(bus, async (servers) => {
    const client = servers.keep(new RoleProcess<ClientHandlers>("client", null));
    const nodes = await servers.startNodes(context, await servers.postgres.createDatabase(), 2);
    const hops = await startHops(servers);
    const [node, other] = nodes;
    if (node === undefined || other === undefined) throw new Error("There are two nodes");
    const ids = Array.from({ length: SESSIONS }, randomSessionId);
    const names = ids.map((_id, index) => `speaker-${index}`);
    const port = await node.ask("port");
    const requests = ids.map((id, index) =>
      postRequest(`/api/chat?message=follow+${names[index] ?? ""}`, id),
    );
    await client.ask("fetch", { port, requests });
    await untilCalls(node, names);
    const streams = ids.map((id) =>
      getRequest("/api/updates?include=messages", id, "Accept: text/event-stream\r\n"),
    );
    await client.ask("openStreams", { name: "all", port: await other.ask("port"), requests: streams });
    const spoken: Spoken = { node, port, ids, names, client };
    const count = context.quick ? 300 : 600;
    let serial = 0;
    const measured = async (measure: (spoken: Spoken, count: number, name: string) => Promise<number[]>) => {
      serial += 1;
      return (await measure(spoken, count + WARM_UP, `mark-${serial}`)).slice(WARM_UP);
    };
    const hop = async (commits: boolean) =>
      (await hops.measure(count + WARM_UP, EVERY_MS, commits)).slice(WARM_UP);
    const text = await inTurn(
      context.rounds,
      () => measured(speak),
      () => hop(false),
    );
    const renamed = await inTurn(
      context.rounds,
      () => measured(rename),
      () => hop(true),
    );
    return [
      hopRow(`p99 of text to a reader on another node, over ${bus} (control: one raw hop)`, text),
      hopRow(
        `p99 of a rename to a reader on another node, over ${bus} (control: one commit and a raw hop)`,
        renamed,
      ),
    ];
  });
}

/** From the model's emission to the bytes at the subscriber. */
async function speak({ node, names, client }: Spoken, count: number, name: string): Promise<number[]> {
  const marks = Array.from({ length: count }, (_, index) => `${name}-${index}-end`);
  await client.ask("recordArrivals", { name: "all" });
  const said = await node.ask("sayPaced", { names, marks, everyMs: EVERY_MS });
  return await delaysOf(client, said);
}

/** From the request to the bytes at the subscriber. */
async function rename({ port, ids, client }: Spoken, count: number, name: string): Promise<number[]> {
  const marks = Array.from({ length: count }, (_, index) => `${name}-${index}-end`);
  const requests = marks.map((title, index) => {
    const id = ids[index % ids.length] ?? "";
    return jsonRequest("PATCH", `/api/sessions/${id}`, id, JSON.stringify({ title }));
  });
  await client.ask("recordArrivals", { name: "all" });
  const sent = await client.ask("fetchTimed", { port, requests, everyMs: EVERY_MS });
  return await delaysOf(
    client,
    marks.map((mark, index) => [mark, sent[index] ?? Number.NaN]),
  );
}

async function delaysOf(
  client: RoleProcess<ClientHandlers>,
  begun: readonly (readonly [mark: string, at: number])[],
): Promise<number[]> {
  const arrived = await until("all marks have arrived", async () => {
    const arrivals = new Map(await client.ask("arrivals", { name: "all" }));
    // Text that is sent again as a whole contains marks of earlier rounds.
    return begun.every(([mark]) => arrivals.has(mark)) ? arrivals : null;
  });
  return begun.map(([mark, at]) => (arrived.get(mark) ?? Number.NaN) - at);
}
