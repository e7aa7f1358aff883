import type { Snapshot } from "@colloquy/client";
import { useColloquy, useSession } from "@colloquy/react";
import { useMemo, useState, type ReactNode } from "react";
import { CopyButton } from "@colloquy/ui/parts";
import { changedPaths } from "./changed-paths.ts";
import { JsonTree } from "./json-tree.tsx";
import styles from "./developer.module.css";

/** The current snapshot; the latest changes are marked. */
export function SnapshotTab({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useColloquy();
  const { snapshot, hasEarlier } = useSession(sessionId);
  const changed = useChanges(snapshot);
  if (snapshot === null) return <p className={styles["empty"]}>No snapshot yet.</p>;
  return (
    <>
      <div className={styles["toolbar"]}>
        <span className={styles["soft"]}>{snapshot.last_event_id}</span>
        <div className={styles["push"]}>
          <CopyButton
            label="Copy the snapshot"
            text={async () => {
              // The page has loaded only the latest messages.
              const whole = hasEarlier ? await client.getState(sessionId) : snapshot;
              return JSON.stringify(whole, null, 2);
            }}
          />
        </div>
      </div>
      <div role="region" aria-label="Snapshot" tabIndex={0} className={styles["scroll"]}>
        <div className={styles["tree"]}>
          <JsonTree value={snapshot} changed={changed} />
        </div>
      </div>
    </>
  );
}

/** Returns the paths that differ from the previous snapshot; empty for the first one. */
function useChanges(snapshot: Snapshot | null): ReadonlySet<string> {
  const [seen, setSeen] = useState<{ readonly before: Snapshot | null; readonly now: Snapshot | null }>({
    before: null,
    now: snapshot,
  });
  if (seen.now !== snapshot) setSeen({ before: seen.now, now: snapshot });
  const { before, now } = seen;
  return useMemo(() => (before === null ? new Set<string>() : changedPaths(before, now)), [before, now]);
}
