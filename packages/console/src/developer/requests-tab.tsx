import { CopyButton, IconButton, Trash2, classes } from "@colloquy/ui/parts";
import { memo, useSyncExternalStore, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Moment } from "../design/moment.tsx";
import { curlOf } from "./curl.ts";
import { LogItem } from "./log-item.tsx";
import type { Outcome, RecordedRequest } from "./recorded-request.ts";
import styles from "./developer.module.css";

/** Requests of the chat and this panel, but not of the operators' area, newest first. Each has a command that repeats it. */
export function RequestsTab(): ReactNode {
  const { requests: log } = useConnection();
  const requests = useSyncExternalStore(log.subscribe, log.getSnapshot);
  return (
    <>
      <div className={styles["toolbar"]}>
        <span className={styles["soft"]}>
          Keys are shown as <code>$COLLOQUY_APP_KEY</code>
        </span>
        <div className={styles["push"]}>
          <IconButton size="small" label="Clear" onClick={() => log.clear()}>
            <Trash2 size={15} />
          </IconButton>
        </div>
      </div>
      <div role="region" aria-label="Requests" tabIndex={0} className={styles["scroll"]}>
        {requests.length === 0 && <p className={styles["empty"]}>No requests yet.</p>}
        <ol className={styles["list"]}>
          {requests.toReversed().map((request) => (
            <Request key={request.number} request={request} />
          ))}
        </ol>
      </div>
    </>
  );
}

const Request = memo(function Request({ request }: { readonly request: RecordedRequest }): ReactNode {
  const { method, url, startedAt, outcome } = request;
  const { pathname, search } = new URL(url);
  return (
    <LogItem
      summary={
        <>
          <span className={styles["name"]}>
            <span className={styles["method"]}>{method}</span> {pathname}
          </span>
          <span className={classes(styles["soft"], outcomeLook(outcome))}>{outcomeText(outcome)}</span>
          <span className={styles["id"]}>{search}</span>
          <span className={styles["soft"]}>
            <Moment at={startedAt} show="precise" />
          </span>
        </>
      }
    >
      <dl className={styles["facts"]}>
        <dt>Request id</dt>
        <dd>{outcome?.requestId ?? "none"}</dd>
        {outcome?.failure !== null && outcome !== null && (
          <>
            <dt>Failure</dt>
            <dd>{outcome.failure}</dd>
          </>
        )}
      </dl>
      <div className={styles["command"]}>
        <pre>
          <code>{curlOf(request)}</code>
        </pre>
        <CopyButton label="Copy the command" text={() => curlOf(request)} />
      </div>
    </LogItem>
  );
});

function outcomeText(outcome: Outcome | null): string {
  if (outcome === null) return "under way";
  const { status, durationMs } = outcome;
  return `${status === 0 ? "no answer" : status} · ${durationMs < 10 ? durationMs.toFixed(1) : Math.round(durationMs)} ms`;
}

function outcomeLook(outcome: Outcome | null): string | undefined {
  if (outcome === null) return undefined;
  return outcome.status >= 200 && outcome.status < 400 ? styles["good"] : styles["wrong"];
}
