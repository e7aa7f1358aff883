import type { AdminApp, AdminClient, AdminToolSource } from "@colloquy/client/admin";
import type { ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import { useQuery } from "./administration.tsx";
import { boundedText, countText } from "./quantities.ts";
import { Badge, DataTable, Facts, Pending, ViewHeading, type Column, type Tone } from "./view-parts.tsx";
import styles from "./operator.module.css";

const askApps = (client: AdminClient, signal: AbortSignal): Promise<AdminApp[]> =>
  client.listApps({ signal });

const KEYS: Readonly<Record<AdminApp["require_key"], string>> = {
  never: "never",
  chat: "to chat",
  all: "for everything",
};

/** The Apps with their models and the state of their tools. */
export function AppsView(): ReactNode {
  const query = useQuery(askApps);
  return (
    <>
      <ViewHeading title="Apps" query={query} />
      <Pending {...query} />
      {query.answer?.map((app) => (
        <App key={app.name} app={app} />
      ))}
    </>
  );
}

function App({ app }: { readonly app: AdminApp }): ReactNode {
  const { name, description, is_configured, models, utility_model, tool_sources } = app;
  return (
    <section className={styles["card"]}>
      <h3>
        {name} {!is_configured && <Badge tone="warning">removed from the configuration</Badge>}
      </h3>
      {description !== null && <p className={styles["soft"]}>{description}</p>}
      <Facts
        facts={[
          ["Models", models.length === 0 ? "none" : models.join(", ")],
          ["For titles", utility_model ?? "none"],
          ["Requires a key", KEYS[app.require_key]],
          ["Valid keys", countText(app.good_keys)],
          ["Sessions", boundedText(app.sessions, app.counted_to)],
        ]}
      />
      {is_configured && (
        <DataTable
          caption={`Tools of ${name}`}
          columns={COLUMNS}
          rows={tool_sources}
          rowKey={({ name }) => name}
          empty="It has no tools."
        />
      )}
    </section>
  );
}

const TONES: Readonly<Record<AdminToolSource["state"], Tone>> = {
  unused: "quiet",
  working: "good",
  failing: "bad",
};

const COLUMNS: readonly Column<AdminToolSource>[] = [
  { label: "Tools from", cell: ({ name }) => name },
  {
    label: "State",
    cell: ({ state, problem }) => (
      <>
        <Badge tone={TONES[state]}>{state}</Badge>
        {problem !== null && <span className={styles["trouble"]}> {problem}</span>}
      </>
    ),
  },
  { label: "Tools", isNumber: true, cell: ({ tools }) => (tools === null ? "–" : countText(tools)) },
  {
    label: "As of",
    isNumber: true,
    cell: ({ seen_at }) => (seen_at === null ? "–" : <Moment at={seen_at} />),
  },
];
