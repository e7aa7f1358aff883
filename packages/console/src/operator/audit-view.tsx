import type { AdminClient, AuditAction, AuditEntry, AuditPage } from "@colloquy/client/admin";
import { useCallback, useState, type ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import { hashOf } from "../shell/route.ts";
import { useQuery } from "./administration.tsx";
import { Pages } from "./page-buttons.tsx";
import { shortened } from "./shortened.ts";
import { Choice, DataTable, Pending, ViewHeading, type Column } from "./view-parts.tsx";
import styles from "./operator.module.css";

/** Table labels of audited actions. */
const ACTIONS: Readonly<Record<AuditAction, string>> = {
  action_decided: "decided an action",
  config_reloaded: "reloaded the configuration",
  key_created: "created a key",
  key_revoked: "revoked a key",
  key_rotated: "rotated a key",
  login_failed: "failed to log in as an operator",
  secrets_removed: "removed secrets",
  secrets_set: "set secrets",
  session_claimed: "claimed a conversation",
  session_deleted: "deleted a conversation",
  session_read: "read a conversation",
  session_transferred: "transferred a conversation",
  user_erased: "erased a user or wallet",
  user_exported: "exported a user or wallet",
};

const CHOICES: readonly (readonly [AuditAction | "", string])[] = [
  ["", "Everything"],
  ...(Object.entries(ACTIONS) as [AuditAction, string][]),
];

const PAGE = 50;

/** The audit trail, newest first. */
export function AuditView(): ReactNode {
  const [action, setAction] = useState<AuditAction | "">("");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const ask = useCallback(
    (client: AdminClient, signal: AbortSignal): Promise<AuditPage> =>
      client.listAudit({
        signal,
        limit: PAGE,
        ...(action && { action }),
        ...(cursor !== undefined && { cursor }),
      }),
    [action, cursor],
  );
  const query = useQuery(ask);
  return (
    <>
      <ViewHeading title="Audit" query={query} />
      <form className={styles["filter"]} onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Action"
          value={action}
          options={CHOICES}
          onChange={(value) => {
            setAction(value);
            setCursors([]);
          }}
        />
      </form>
      <Pending {...query} />
      {query.answer !== null && (
        <DataTable
          caption="Audit trail"
          columns={COLUMNS}
          rows={query.answer.entries}
          rowKey={({ id }) => id}
          empty="There are no entries."
        />
      )}
      <Pages cursors={cursors} next={query.answer?.next_cursor ?? null} onChange={setCursors} />
    </>
  );
}

const KINDS: Readonly<Record<AuditEntry["actor"]["kind"], string>> = {
  admin_key: "the admin key",
  key: "a key",
  operator: "an operator",
  user: "a user",
  client: "a client without a key",
  command_line: "the command line",
  service: "the service",
};

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    label: "Who",
    cell: ({ actor: { kind, name, id, address } }) => (
      <>
        {name ?? KINDS[kind]}{" "}
        <span className={styles["soft"]}>{[id, address].filter(Boolean).join(" · ")}</span>
      </>
    ),
  },
  { label: "Did", cell: ({ action }) => ACTIONS[action] },
  { label: "To", cell: (entry) => <Target {...entry} /> },
  { label: "App", cell: ({ app }) => app ?? "–" },
  { label: "When", isNumber: true, cell: ({ at }) => <Moment at={at} /> },
  { label: "Details", cell: ({ details }) => <Details details={details} /> },
];

function Target({ action, target }: AuditEntry): ReactNode {
  if (target === null) return "–";
  const short = <span title={target}>{shortened(target)}</span>;
  if (!action.startsWith("session_") || action === "session_deleted") return <code>{short}</code>;
  return <a href={hashOf({ page: "operate", view: `sessions/${target}` })}>{short}</a>;
}

function Details({ details }: Pick<AuditEntry, "details">): ReactNode {
  const known = Object.entries(details)
    .map(([name, value]) => [name, value === null ? "" : textOf(value)] as const)
    .filter(([, text]) => text !== "");
  return known.length === 0 ? "–" : known.map(([name, text]) => `${name}: ${text}`).join("; ");
}

function textOf(value: AuditEntry["details"][string]): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : shortened(String(value));
}
