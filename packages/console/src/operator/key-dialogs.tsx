import type { AdminClient, AdminKey, IssuedAdminKey } from "@colloquy/client/admin";
import { useId, useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { Dialog } from "../design/dialog.tsx";
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

const askKeyedApps = async (client: AdminClient, signal: AbortSignal): Promise<readonly string[]> =>
  (await client.listApps({ signal }))
    .filter(({ is_configured, require_key }) => is_configured && require_key !== "never")
    .map(({ name }) => name);

export function CreateKeyDialog({ onClose, onIssued }: IssuingProps): ReactNode {
  const { client } = useAdministration();
  const { answer: apps, problem } = useQuery(askKeyedApps);
  const nameId = useId();
  const [name, setName] = useState("");
  const [life, setLife] = useState<(typeof LIVES)[number][0]>("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return (
    <ConfirmDialog
      title="Create a key"
      action="Create"
      look="primary"
      onClose={onClose}
      onConfirm={async () => {
        if (chosen.size === 0) throw new Error("Choose the Apps that the key opens.");
        onIssued(
          await client.createKey({
            apps: [...chosen],
            ...(name.trim() && { name: name.trim() }),
            ...(life && { expiresInSeconds: Number(life) }),
          }),
        );
      }}
    >
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
              onChange={() => setChosen(chosen.symmetricDifference(new Set([app])))}
            />
            {app}
          </label>
        ))}
      </fieldset>
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
        A new key for the same Apps ({rotated.apps.join(", ")}) is created now. Both work until the old one
        expires, so that no client is refused meanwhile.
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
          It opens {issued.apps.join(", ")} and is sent as the header <code>SERVICE-APP-KEY</code>.
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
