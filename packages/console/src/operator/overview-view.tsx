import type { AdminClient, AdminOverview } from "@colloquy/client/admin";
import type { ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import { durationText } from "@colloquy/ui/parts";
import { useQuery } from "./administration.tsx";
import { boundedText, bytesText, countText } from "./quantities.ts";
import { Badge, DataTable, Facts, Pending, ViewHeading } from "./view-parts.tsx";
import styles from "./operator.module.css";

const EVERY_MS = 5_000;

const askOverview = (client: AdminClient, signal: AbortSignal): Promise<AdminOverview> =>
  client.overview({ signal });

/** Current state of the service. */
export function OverviewView(): ReactNode {
  const query = useQuery(askOverview, EVERY_MS);
  return (
    <>
      <ViewHeading title="Overview" query={query} />
      <Pending {...query} />
      {query.answer !== null && <Overview overview={query.answer} />}
    </>
  );
}

function Overview({ overview }: { readonly overview: AdminOverview }): ReactNode {
  const { is_ready, problems, everywhere, here, store, bus, version, node, started_at, time } = overview;
  const uptime = Date.parse(time) - Date.parse(started_at);
  return (
    <>
      <Health name="Service" isGood={is_ready} good="ready" bad="not ready" problems={problems} />
      <section>
        <h3>Now, everywhere</h3>
        {everywhere === null ? (
          <p className={styles["empty"]}>The store cannot be read, so this is unknown.</p>
        ) : (
          <Tiles
            tiles={[
              ["Turns running", boundedText(everywhere.running_turns, everywhere.counted_to)],
              ["Turns queued", boundedText(everywhere.queued_turns, everywhere.counted_to)],
              ["Waiting for people", boundedText(everywhere.waiting_turns, everywhere.counted_to)],
              ["Pending actions", boundedText(everywhere.pending_actions, everywhere.counted_to)],
            ]}
          />
        )}
      </section>
      <section>
        <h3>In the process that answers</h3>
        <Tiles
          tiles={[
            ["Live sessions", countText(here.sessions_in_memory)],
            ["Turns running here", countText(here.running_turns)],
            ["Open streams", countText(here.open_streams)],
            ["Snapshots in memory", bytesText(here.snapshot_bytes)],
          ]}
        />
        <Facts
          facts={[
            ["Version", version],
            ["Node", <code key="node">{node}</code>],
            ["Started", <Moment key="started" at={started_at} />],
            ["Up for", durationText(uptime)],
          ]}
        />
      </section>
      <StoreAndBus store={store} bus={bus} />
      {everywhere !== null && everywhere.working_nodes.length > 0 && (
        <DataTable
          caption="Processes with turns"
          isCaptionShown
          rows={everywhere.working_nodes}
          rowKey={({ node }) => node}
          empty=""
          columns={[
            { label: "Node", cell: ({ node }) => <code>{node}</code> },
            { label: "Turns running", isNumber: true, cell: ({ running_turns }) => countText(running_turns) },
          ]}
        />
      )}
    </>
  );
}

function StoreAndBus({ store, bus }: Pick<AdminOverview, "store" | "bus">): ReactNode {
  const roundTrip = bus.kind === "in-process" ? "none: in this process" : measured(bus.round_trip_ms);
  return (
    <div className={styles["pair"]}>
      <Backing
        heading="Store"
        name={STORES[store.kind] ?? store.kind}
        state={store}
        facts={[
          ["A read takes", measured(store.read_ms)],
          ["A commit takes", measured(store.commit_ms)],
          ["Its clock is ahead by", measured(store.clock_ahead_ms)],
        ]}
      />
      <Backing
        heading="Bus"
        name={BUSES[bus.kind] ?? bus.kind}
        state={bus}
        facts={[["A round trip takes", roundTrip]]}
      />
    </div>
  );
}

/** A backing service: what it is, whether it works, and how fast. */
function Backing({
  heading,
  name,
  state: { is_healthy, problems },
  facts,
}: {
  readonly heading: string;
  readonly name: string;
  readonly state: Pick<AdminOverview["store"], "is_healthy" | "problems">;
  readonly facts: readonly (readonly [string, string])[];
}): ReactNode {
  return (
    <section>
      <h3>{heading}</h3>
      <Health name={name} isGood={is_healthy} good="healthy" bad="unhealthy" problems={problems} />
      <Facts facts={facts} />
    </section>
  );
}

const STORES: Readonly<Record<AdminOverview["store"]["kind"], string>> = {
  sqlite: "SQLite",
  postgresql: "PostgreSQL",
};

const BUSES: Readonly<Record<AdminOverview["bus"]["kind"], string>> = {
  "in-process": "In the process",
  postgresql: "PostgreSQL",
  nats: "NATS",
};

function measured(ms: number | null): string {
  return ms === null ? "not known" : durationText(ms);
}

function Health({
  name,
  isGood,
  good,
  bad,
  problems,
}: {
  readonly name: string;
  readonly isGood: boolean;
  readonly good: string;
  readonly bad: string;
  readonly problems: readonly string[];
}): ReactNode {
  return (
    <div className={styles["health"]}>
      <p>
        <strong>{name}</strong> <Badge tone={isGood ? "good" : "bad"}>{isGood ? good : bad}</Badge>
      </p>
      {problems.length > 0 && (
        <ul>
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Tiles({ tiles }: { readonly tiles: readonly (readonly [string, string])[] }): ReactNode {
  return (
    <dl className={styles["tiles"]}>
      {tiles.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
