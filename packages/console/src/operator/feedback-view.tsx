import type { AdminClient, AdminFeedback, AdminFeedbackPage, FeedbackFilter } from "@colloquy/client/admin";
import { Button } from "@colloquy/ui/parts";
import { useCallback, useState, type ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import { hashOf } from "../shell/route.ts";
import { useAdministration, useQuery } from "./administration.tsx";
import { AppChoice } from "./app-choice.tsx";
import { Pages } from "./page-buttons.tsx";
import { shortened } from "./shortened.ts";
import { RANGES } from "./time-range.ts";
import { Badge, Choice, DataTable, Pending, ViewHeading, type Column, type Tone } from "./view-parts.tsx";
import styles from "./operator.module.css";

const PAGE = 50;
/** Maximum entries per request of a download. */
const DOWNLOAD_PAGE = 1_000;

const SCORES = { "1": "Good", "0": "None", "-1": "Bad" } as const;
type Score = keyof typeof SCORES;

const SCORE_CHOICES: readonly (readonly [Score | "", string])[] = [
  ["", "All"],
  ["-1", SCORES[-1]],
  ["1", SCORES[1]],
  ["0", SCORES[0]],
];
const TONES: Readonly<Record<Score, Tone>> = { "1": "good", "0": "quiet", "-1": "bad" };

interface Filter {
  readonly app: string;
  readonly score: Score | "";
  /** Name of a range; "" for all time. */
  readonly range: string;
}

/** Lists feedback on answers of all Apps, newest first, with filters and a CSV download. */
export function FeedbackView(): ReactNode {
  const [filter, setFilter] = useState<Filter>({ app: "", score: "", range: "" });
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const ask = useCallback(
    (client: AdminClient, signal: AbortSignal): Promise<AdminFeedbackPage> =>
      client.listFeedback({ ...queryOf(filter), signal, limit: PAGE, cursor }),
    [filter, cursor],
  );
  const query = useQuery(ask);
  const change = (changes: Partial<Filter>): void => {
    setFilter({ ...filter, ...changes });
    setCursors([]);
  };
  return (
    <>
      <ViewHeading title="Feedback" query={query}>
        <Download filter={filter} />
      </ViewHeading>
      <form className={styles["filter"]} onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Score"
          value={filter.score}
          options={SCORE_CHOICES}
          onChange={(score) => change({ score })}
        />
        <AppChoice app={filter.app} onChange={(app) => change({ app })} />
        <Choice
          label="Time"
          value={filter.range}
          options={[["", "All"], ...RANGES.map(({ name, label }) => [name, label] as const)]}
          onChange={(range) => change({ range })}
        />
      </form>
      <Pending {...query} />
      {query.answer !== null && (
        <DataTable
          caption="Feedback"
          columns={COLUMNS}
          rows={query.answer.feedback}
          rowKey={({ session_id, message_id }) => `${session_id} ${message_id}`}
          empty="There is no such feedback."
        />
      )}
      <Pages cursors={cursors} next={query.answer?.next_cursor ?? null} onChange={setCursors} />
    </>
  );
}

function queryOf({ app, score, range }: Filter): FeedbackFilter {
  const ms = RANGES.find(({ name }) => name === range)?.ms;
  return {
    ...(app && { app }),
    ...(score && { score: Number(score) as AdminFeedback["score"] }),
    ...(ms !== undefined && { from: new Date(Date.now() - ms) }),
  };
}

/** Button that downloads all feedback that matches the filter as CSV. */
function Download({ filter }: { readonly filter: Filter }): ReactNode {
  const { client, explain } = useAdministration();
  const [isLoading, setLoading] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const download = async (): Promise<void> => {
    setLoading(true);
    setProblem(null);
    try {
      save(await tableOf(client, filter), "feedback.csv");
    } catch (error) {
      setProblem(explain(error));
    }
    setLoading(false);
  };
  return (
    <>
      {problem !== null && (
        <p role="alert" className={styles["wrong"]}>
          The table was not downloaded. {problem}
        </p>
      )}
      <Button size="small" disabled={isLoading} onClick={() => void download()}>
        Download CSV
      </Button>
    </>
  );
}

async function tableOf(client: AdminClient, filter: Filter): Promise<string> {
  const query = queryOf(filter);
  let table = "";
  let cursor: string | null | undefined;
  do {
    const page = await client.feedbackTable({ ...query, limit: DOWNLOAD_PAGE, cursor: cursor ?? undefined });
    // Keep the header line of the first page only.
    table += table === "" ? page.csv : page.csv.slice(page.csv.indexOf("\n") + 1);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return table;
}

function save(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob(["\uFEFF", text], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

const COLUMNS: readonly Column<AdminFeedback>[] = [
  {
    label: "Score",
    cell: ({ score }) => <Badge tone={TONES[score]}>{SCORES[score]}</Badge>,
  },
  {
    label: "Comment",
    cell: ({ comment = "–" }) => (
      <span className={styles["comment"]} dir="auto">
        {comment}
      </span>
    ),
  },
  { label: "Tags", cell: ({ tags = [] }) => (tags.length === 0 ? "–" : <bdi>{tags.join(", ")}</bdi>) },
  { label: "App", cell: ({ app }) => app },
  {
    label: "Session",
    cell: ({ session_id, turn }) => (
      <a href={hashOf({ page: "operate", view: `sessions/${session_id}` })} title={session_id}>
        {shortened(session_id)}, turn {turn}
      </a>
    ),
  },
  { label: "Time", isNumber: true, cell: ({ created_at }) => <Moment at={created_at} /> },
];
