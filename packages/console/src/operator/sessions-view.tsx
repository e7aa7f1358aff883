import type { AdminClient, AdminSession, AdminSessionPage, AdminSessionStatus } from "@colloquy/client/admin";
import { useCallback, useState, type FormEvent, type ReactNode } from "react";
import { Button } from "@colloquy/ui/parts";
import { Moment } from "../design/moment.tsx";
import { hashOf } from "../shell/route.ts";
import { Pages } from "./page-buttons.tsx";
import { useQuery } from "./administration.tsx";
import { AppChoice } from "./app-choice.tsx";
import { countText } from "./quantities.ts";
import { SESSION_TONES, problemOfTurn, turnTone } from "./session-labels.ts";
import { Badge, Choice, DataTable, Pending, ViewHeading, type Column } from "./view-parts.tsx";
import styles from "./operator.module.css";

const EVERY_MS = 10_000;
const PAGE = 50;

interface Filter {
  readonly status: AdminSessionStatus | "";
  readonly app: string;
  readonly search: string;
}

const STATUSES: readonly (readonly [Filter["status"], string])[] = [
  ["", "All"],
  ["processing", "Processing"],
  ["waiting", "Waiting for a person or client"],
  ["stuck", "Stuck"],
  ["failed", "Failed"],
  ["idle", "Idle"],
];

/** A page of sessions and its query. */
interface Listed extends AdminSessionPage {
  readonly filter: Filter;
  readonly cursor: string | undefined;
}

/** Sessions of every App, most recently used first. */
export function SessionsView(): ReactNode {
  const [filter, setFilter] = useState<Filter>({ status: "", app: "", search: "" });
  /** Cursors of the pages up to the current one; empty for the first. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const ask = useCallback(
    async (client: AdminClient, signal: AbortSignal): Promise<Listed> => {
      const { status, app, search } = filter;
      const page = await client.listSessions({
        signal,
        limit: PAGE,
        ...(status && { status }),
        ...(app && { app }),
        ...(search && { search }),
        ...(cursor !== undefined && { cursor }),
      });
      return { ...page, filter, cursor };
    },
    [filter, cursor],
  );
  const query = useQuery(ask, EVERY_MS);
  const listed = query.answer;
  // Ignore the answer to an earlier page's query.
  const isOfThis = listed?.filter === filter && listed.cursor === cursor;
  const next = isOfThis ? listed.next_cursor : null;
  return (
    <>
      <ViewHeading title="Sessions" query={query} />
      <FilterForm
        filter={filter}
        onChange={(changes) => {
          setFilter({ ...filter, ...changes });
          setCursors([]);
        }}
      />
      <Pending {...query} />
      {query.answer?.is_complete === false && (
        <p className={styles["notice"]}>
          More sessions have an open turn than one request examines, so that some may be missing here.
        </p>
      )}
      {query.answer !== null && (
        <DataTable
          caption="Sessions"
          columns={COLUMNS}
          rows={query.answer.sessions}
          rowKey={({ session_id }) => session_id}
          empty={
            next === null ? "There is no such session." : "None on this page; there may be more on the next."
          }
        />
      )}
      <Pages cursors={cursors} next={next} onChange={setCursors} />
    </>
  );
}

function FilterForm({
  filter,
  onChange,
}: {
  readonly filter: Filter;
  readonly onChange: (changes: Partial<Filter>) => void;
}): ReactNode {
  const [search, setSearch] = useState(filter.search);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChange({ search: search.trim() });
  };
  return (
    <form className={styles["filter"]} role="search" onSubmit={submit}>
      <Choice
        label="Status"
        value={filter.status}
        options={STATUSES}
        onChange={(status) => onChange({ status })}
      />
      <AppChoice app={filter.app} onChange={(app) => onChange({ app })} />
      <label className={styles["choice"]}>
        <span>Title, session id, handle or wallet</span>
        <input type="search" value={search} onChange={(event) => setSearch(event.target.value)} />
      </label>
      <Button type="submit">Search</Button>
    </form>
  );
}

const COLUMNS: readonly Column<AdminSession>[] = [
  {
    label: "Title",
    cell: ({ session_id, title }) => (
      <a href={hashOf({ page: "operate", view: `sessions/${session_id}` })} className={styles["title"]}>
        <bdi>{title}</bdi>
      </a>
    ),
  },
  { label: "Status", cell: ({ status }) => <Badge tone={SESSION_TONES[status]}>{status}</Badge> },
  { label: "Turn", cell: ({ turn }) => turn !== null && <Turn turn={turn} /> },
  { label: "App", cell: ({ app }) => app },
  { label: "Model", cell: ({ model }) => model },
  { label: "Messages", isNumber: true, cell: ({ message_count }) => countText(message_count) },
  { label: "Last change", isNumber: true, cell: ({ updated_at }) => <Moment at={updated_at} /> },
];

function Turn({ turn }: { readonly turn: NonNullable<AdminSession["turn"]> }): ReactNode {
  const trouble = problemOfTurn(turn);
  return (
    <>
      {turn.number} <Badge tone={turnTone(turn)}>{turn.state}</Badge>
      {trouble !== null && <span className={styles["trouble"]}> {trouble}</span>}
    </>
  );
}
