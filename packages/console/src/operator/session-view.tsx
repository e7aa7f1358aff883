import type {
  AdminClient,
  AdminSession,
  AdminSessionDetail,
  AdminSummary,
  AdminTurn,
} from "@colloquy/client/admin";
import { ArrowLeft, Button, CopyButton, durationText } from "@colloquy/ui/parts";
import { useCallback, useState, type ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import { hashOf } from "../shell/route.ts";
import { goTo } from "../shell/use-route.ts";
import { useAdministration, useQuery } from "./administration.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { OperatorAction } from "./pending-actions.tsx";
import { countText } from "./quantities.ts";
import { isOpen, SESSION_TONES, problemOfTurn, turnTone } from "./session-labels.ts";
import { Badge, DataTable, Facts, Pending, ViewHeading, type Column } from "./view-parts.tsx";
import styles from "./operator.module.css";

const EVERY_MS = 5_000;
const SESSIONS = { page: "operate", view: "sessions" } as const;

/** One session with its turns and the operator's actions on it. */
export function SessionView({ sessionId }: { readonly sessionId: string }): ReactNode {
  /** Shows turns before this number; `null` for the newest. */
  const [before, setBefore] = useState<number | null>(null);
  const ask = useCallback(
    (client: AdminClient, signal: AbortSignal): Promise<AdminSessionDetail> =>
      client.getSession(sessionId, { signal, ...(before !== null && { before }) }),
    [sessionId, before],
  );
  const query = useQuery(ask, EVERY_MS);
  const next = query.answer?.next_before ?? null;
  return (
    <>
      <a className={styles["back"]} href={hashOf(SESSIONS)}>
        <ArrowLeft size={15} /> All sessions
      </a>
      <ViewHeading title={query.answer?.session.title ?? "Session"} query={query}>
        {query.answer !== null && mayChange(query.answer.session) && (
          <SessionActions session={query.answer.session} onDone={query.refetch} />
        )}
      </ViewHeading>
      <Pending {...query} />
      {query.answer !== null && (
        <>
          <SessionFacts session={query.answer.session} summaries={query.answer.summaries ?? []} />
          {query.answer.pending_actions.map((action) => (
            <OperatorAction key={action.id} sessionId={sessionId} action={action} onDecided={query.refetch} />
          ))}
          <DataTable
            caption="Turns, newest first"
            isCaptionShown
            columns={COLUMNS}
            rows={query.answer.turns}
            rowKey={({ number }) => String(number)}
            empty="No turns yet."
          />
          <nav aria-label="Pages" className={styles["pages"]}>
            <Button size="small" disabled={before === null} onClick={() => setBefore(null)}>
              Newest
            </Button>
            <Button size="small" disabled={next === null} onClick={() => setBefore(next)}>
              Older
            </Button>
          </nav>
        </>
      )}
    </>
  );
}

/** Operators who may only read get the handle in place of the id. */
function mayChange({ session_id, handle }: AdminSession): boolean {
  return session_id !== handle;
}

function SessionFacts({
  session,
  summaries,
}: {
  readonly session: AdminSession;
  readonly summaries: readonly AdminSummary[];
}): ReactNode {
  const { session_id, handle, app, model, public_key, status, created_at, updated_at, used_at } = session;
  const noWallet = mayChange(session) ? "none" : "hidden";
  return (
    <Facts
      facts={[
        [
          "Status",
          <Badge key="status" tone={SESSION_TONES[status]}>
            {status}
          </Badge>,
        ],
        [
          "Session id",
          mayChange(session) ? (
            <span key="id">
              <code>{session_id}</code> <CopyButton label="Copy the session id" text={session_id} />
            </span>
          ) : (
            "hidden"
          ),
        ],
        [
          "Handle in the log",
          <span key="handle">
            <code>{handle}</code> <CopyButton label="Copy the handle" text={handle} />
          </span>,
        ],
        ["App", app],
        ["Model", model],
        ["Wallet", public_key === null ? noWallet : <code key="wallet">{public_key}</code>],
        ["Messages", countText(session.message_count)],
        ["Turns", countText(session.turn_count)],
        ...(summaries.length === 0 ? [] : [["Summarized", savingsText(summaries)] as const]),
        ["Created", <Moment key="created" at={created_at} />],
        ["Last change", <Moment key="updated" at={updated_at} />],
        ["Last used", <Moment key="used" at={used_at} />],
      ]}
    />
  );
}

/** Sums the savings, because each summary also replaces the previous one. */
function savingsText(summaries: readonly AdminSummary[]): string {
  const saved = summaries.reduce(
    (sum, { tokens_before, tokens_after }) => sum + tokens_before - tokens_after,
    0,
  );
  return `through turn ${summaries.at(-1)?.turn}, saves about ${countText(saved)} tokens in each prompt`;
}

function SessionActions({
  session: { session_id, title, turn },
  onDone,
}: {
  readonly session: AdminSession;
  readonly onDone: () => void;
}): ReactNode {
  const { client } = useAdministration();
  const [query, setAsked] = useState<"interrupt" | "delete" | null>(null);
  const close = (): void => setAsked(null);
  return (
    <>
      <a className={styles["link"]} href={hashOf({ page: "chat", sessionId: session_id })}>
        Open in the chat
      </a>
      <Button disabled={turn === null || !isOpen(turn)} onClick={() => setAsked("interrupt")}>
        Interrupt
      </Button>
      <Button onClick={() => setAsked("delete")}>Delete</Button>
      {query === "interrupt" && (
        <ConfirmDialog
          title="Interrupt the answer?"
          action="Interrupt"
          onClose={close}
          onConfirm={async () => {
            await client.interrupt(session_id);
            close();
            onDone();
          }}
        >
          <p>Stops the turn and cancels queued messages. The text so far stays.</p>
        </ConfirmDialog>
      )}
      {query === "delete" && (
        <ConfirmDialog
          title="Delete the session?"
          action="Delete permanently"
          onClose={close}
          onConfirm={async () => {
            await client.deleteSession(session_id);
            goTo(SESSIONS, { replace: true });
          }}
        >
          <p>
            “<bdi>{title}</bdi>” is deleted with all its messages, permanently, for everybody who has it open.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

const COLUMNS: readonly Column<AdminTurn>[] = [
  { label: "Turn", cell: ({ number }) => number },
  {
    label: "State",
    cell: (turn) => (
      <>
        <Badge tone={turnTone(turn)}>{turn.state}</Badge>
        {problemOfTurn(turn) !== null && <span className={styles["trouble"]}> {problemOfTurn(turn)}</span>}
      </>
    ),
  },
  { label: "Accepted", isNumber: true, cell: ({ accepted_at }) => <Moment at={accepted_at} /> },
  {
    label: "Took",
    isNumber: true,
    cell: ({ accepted_at, ended_at }) =>
      ended_at === null ? "–" : durationText(Date.parse(ended_at) - Date.parse(accepted_at)),
  },
  { label: "Ran", isNumber: true, cell: ({ ran_ms }) => durationText(ran_ms) },
  { label: "Model", cell: ({ model }) => model ?? "–" },
  { label: "Steps", isNumber: true, cell: ({ steps }) => countText(steps) },
  { label: "Attempts", isNumber: true, cell: ({ attempts }) => countText(attempts) },
  { label: "Tokens in", isNumber: true, cell: ({ input_tokens }) => countText(input_tokens) },
  { label: "Tokens out", isNumber: true, cell: ({ output_tokens }) => countText(output_tokens) },
  { label: "Owner", cell: ({ owner }) => (owner === null ? "–" : <code>{owner}</code>) },
];
