import type { AdminClient, AdminKey, IssuedAdminKey, KeyScope } from "@colloquy/client/admin";
import { useId, useState, type ReactNode } from "react";
import { Button, CopyButton, Dialog } from "@colloquy/ui/parts";
import { useAdministration, useQuery } from "./administration.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { Choice } from "./view-parts.tsx";
import styles from "./operator.module.css";

interface IssuingProps {
  readonly onClose: () => void;
  readonly onIssued: (issued: IssuedAdminKey) => void;
}

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

const LIVES = [
  ["", "Never"],
  [String(30 * DAY_SECONDS), "In 30 days"],
  [String(90 * DAY_SECONDS), "In 90 days"],
  [String(365 * DAY_SECONDS), "In a year"],
] as const;

/** The scopes with what they permit. */
const SCOPES: readonly (readonly [KeyScope, string])[] = [
  ["chat", "chat: change conversations of its Apps"],
  ["read", "read: read them"],
  ["secrets", "secrets: set the secrets of their users"],
  ["admin:read", "admin:read: read everything here"],
  ["admin:write", "admin:write: do everything here"],
];
const APP_SCOPES: readonly KeyScope[] = ["chat", "read", "secrets"];

const askKeyedApps = async (client: AdminClient, signal: AbortSignal): Promise<readonly string[]> =>
  (await client.listApps({ signal }))
    .filter(({ is_configured, require_key }) => is_configured && require_key !== "never")
    .map(({ name }) => name);

export function CreateKeyDialog({ onClose, onIssued }: IssuingProps): ReactNode {
  const { client } = useAdministration();
  const nameId = useId();
  const [name, setName] = useState("");
  const [life, setLife] = useState<(typeof LIVES)[number][0]>("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [scopes, setScopes] = useState<ReadonlySet<KeyScope>>(new Set(APP_SCOPES));
  const opensApps = APP_SCOPES.some((scope) => scopes.has(scope));
  return (
    <ConfirmDialog
      title="Create a key"
      action="Create"
      look="primary"
      onClose={onClose}
      onConfirm={async () => {
        if (scopes.size === 0) throw new Error("Choose what the key may be used for.");
        if (opensApps && chosen.size === 0) throw new Error("Choose the Apps that the key opens.");
        onIssued(
          await client.createKey({
            apps: opensApps ? [...chosen] : [],
            scopes: [...scopes],
            ...(name.trim() && { name: name.trim() }),
            ...(life && { expiresInSeconds: Number(life) }),
          }),
        );
      }}
    >
      <Apps chosen={chosen} onChange={setChosen} />
      <Scopes chosen={scopes} onChange={setScopes} />
      <label htmlFor={nameId} className={styles["choice"]}>
        <span>Name, to recognize it</span>
        <input
          id={nameId}
          value={name}
          maxLength={100}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <Choice label="Ends" value={life} options={LIVES} onChange={setLife} />
    </ConfirmDialog>
  );
}

function Apps({
  chosen,
  onChange,
}: {
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (apps: ReadonlySet<string>) => void;
}): ReactNode {
  const { answer: apps, problem } = useQuery(askKeyedApps);
  return (
    <fieldset className={styles["fieldset"]}>
      <legend>Apps that it opens</legend>
      {problem !== null && (
        <p role="alert" className={styles["wrong"]}>
          The Apps cannot be listed. {problem}
        </p>
      )}
      {apps?.length === 0 && <p>No configured App requires a key.</p>}
      {apps?.map((app) => (
        <label key={app}>
          <input
            type="checkbox"
            checked={chosen.has(app)}
            onChange={() => onChange(chosen.symmetricDifference(new Set([app])))}
          />
          {app}
        </label>
      ))}
    </fieldset>
  );
}

function Scopes({
  chosen,
  onChange,
}: {
  readonly chosen: ReadonlySet<KeyScope>;
  readonly onChange: (scopes: ReadonlySet<KeyScope>) => void;
}): ReactNode {
  return (
    <fieldset className={styles["fieldset"]}>
      <legend>What it may be used for</legend>
      {SCOPES.map(([scope, meaning]) => (
        <label key={scope}>
          <input
            type="checkbox"
            checked={chosen.has(scope)}
            onChange={() => onChange(chosen.symmetricDifference(new Set([scope])))}
          />
          {meaning}
        </label>
      ))}
    </fieldset>
  );
}

const OVERLAPS = [
  [String(DAY_SECONDS), "In a day"],
  [String(HOUR_SECONDS), "In an hour"],
  [String(7 * DAY_SECONDS), "In a week"],
  ["0", "At once"],
] as const;

export function RotateKeyDialog({
  rotated,
  onClose,
  onIssued,
}: IssuingProps & { readonly rotated: AdminKey }): ReactNode {
  const { client } = useAdministration();
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number][0]>(OVERLAPS[0][0]);
  return (
    <ConfirmDialog
      title="Rotate the key?"
      action="Rotate"
      look="primary"
      onClose={onClose}
      onConfirm={async () =>
        onIssued(await client.rotateKey(rotated.id, { overlapSeconds: Number(overlap) }))
      }
    >
      <p>
        A new key for{" "}
        {rotated.apps.length === 0 ? "the same operator" : `the same Apps (${rotated.apps.join(", ")})`} is
        created now. Both work until the old one expires, so that no client is refused meanwhile.
      </p>
      <Choice label="The old key expires" value={overlap} options={OVERLAPS} onChange={setOverlap} />
    </ConfirmDialog>
  );
}

/** Shows the full key, the only time it is visible. */
export function IssuedKeyDialog({
  issued,
  onClose,
}: {
  readonly issued: IssuedAdminKey;
  readonly onClose: () => void;
}): ReactNode {
  return (
    <Dialog title="The new key" isHeld onClose={onClose}>
      <div className={styles["form"]}>
        <p>Copy it now: it is shown only once and stored nowhere.</p>
        <p className={styles["secret"]}>
          <code aria-label="The key">{issued.key}</code>
          <CopyButton label="Copy the key" text={issued.key} hasText />
        </p>
        <p className={styles["soft"]}>
          It opens {issued.apps.join(", ") || "this area"} for {issued.scopes.join(", ")} and is sent in the
          header <code>{issued.apps.length === 0 ? "Authorization: Bearer" : "SERVICE-APP-KEY"}</code>.
        </p>
        <div className={styles["buttons"]}>
          <Button look="primary" onClick={onClose}>
            I have saved it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
