import type { AdminClient, AdminKey, IssuedAdminKey } from "@colloquy/client/admin";
import { useState, type ReactNode } from "react";
import { Button } from "@colloquy/ui/parts";
import { Moment } from "../design/moment.tsx";
import { useAdministration, useQuery } from "./administration.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { CreateKeyDialog, IssuedKeyDialog, RotateKeyDialog } from "./key-dialogs.tsx";
import { Badge, DataTable, Pending, ViewHeading, type Column, type Tone } from "./view-parts.tsx";
import styles from "./operator.module.css";

const askKeys = (client: AdminClient, signal: AbortSignal): Promise<AdminKey[]> =>
  client.listKeys({ signal });

type Doing =
  | { readonly what: "create" }
  | { readonly what: "rotate" | "revoke"; readonly key: AdminKey }
  | { readonly what: "show"; readonly issued: IssuedAdminKey };

/** The keys of Apps and operators. */
export function KeysView(): ReactNode {
  const query = useQuery(askKeys);
  const [doing, setDoing] = useState<Doing | null>(null);
  const done = (next: Doing | null): void => {
    setDoing(next);
    query.refetch();
  };
  return (
    <>
      <ViewHeading title="Keys" query={query}>
        <Button look="primary" onClick={() => setDoing({ what: "create" })}>
          Create a key
        </Button>
      </ViewHeading>
      <p className={styles["soft"]}>
        An App that requires a key accepts any of its keys. Give keys to servers, not to pages. Operators get
        keys with admin scopes.
      </p>
      <Pending {...query} />
      {query.answer !== null && (
        <DataTable
          caption="Keys, newest first"
          columns={columns(setDoing)}
          rows={query.answer.toReversed()}
          rowKey={({ id }) => id}
          empty="There are no keys yet."
        />
      )}
      <Dialogs doing={doing} onClose={() => setDoing(null)} onDone={done} />
    </>
  );
}

function Dialogs({
  doing,
  onClose,
  onDone,
}: {
  readonly doing: Doing | null;
  readonly onClose: () => void;
  readonly onDone: (next: Doing | null) => void;
}): ReactNode {
  const { client } = useAdministration();
  const show = (issued: IssuedAdminKey): void => onDone({ what: "show", issued });
  if (doing === null) return null;
  if (doing.what === "create") return <CreateKeyDialog onClose={onClose} onIssued={show} />;
  if (doing.what === "show") return <IssuedKeyDialog issued={doing.issued} onClose={onClose} />;
  if (doing.what === "rotate")
    return <RotateKeyDialog rotated={doing.key} onClose={onClose} onIssued={show} />;
  const { id } = doing.key;
  return (
    <ConfirmDialog
      title="Revoke the key?"
      action="Revoke"
      onClose={onClose}
      onConfirm={async () => {
        await client.revokeKey(id);
        onDone(null);
      }}
    >
      <p>
        {nameOf(doing.key)} stops working within five seconds, permanently. Clients that use it are refused
        from then on.
      </p>
    </ConfirmDialog>
  );
}

function nameOf({ id, name }: AdminKey): string {
  return name === null ? `The key ${id}` : `“${name}”`;
}

const TONES: Readonly<Record<AdminKey["status"], Tone>> = {
  good: "good",
  revoked: "quiet",
  expired: "quiet",
};

function columns(onDo: (doing: Doing) => void): readonly Column<AdminKey>[] {
  return [
    {
      label: "Key",
      cell: ({ id, name }) => (
        <>
          {name ?? "without a name"} <code className={styles["soft"]}>{id}</code>
        </>
      ),
    },
    { label: "Apps", cell: ({ apps }) => apps.join(", ") || "–" },
    { label: "Scopes", cell: ({ scopes }) => scopes.join(", ") },
    { label: "Status", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
    { label: "Created", isNumber: true, cell: ({ created_at }) => <Moment at={created_at} /> },
    {
      label: "Ends",
      isNumber: true,
      cell: ({ expires_at, revoked_at }) => {
        const end = revoked_at ?? expires_at;
        return end === null ? "never" : <Moment at={end} />;
      },
    },
    {
      label: "Actions",
      cell: (key) =>
        key.status === "good" && (
          <span className={styles["buttons"]}>
            <Button
              size="small"
              aria-label={`Rotate ${nameOf(key)}`}
              onClick={() => onDo({ what: "rotate", key })}
            >
              Rotate
            </Button>
            <Button
              size="small"
              aria-label={`Revoke ${nameOf(key)}`}
              onClick={() => onDo({ what: "revoke", key })}
            >
              Revoke
            </Button>
          </span>
        ),
    },
  ];
}
