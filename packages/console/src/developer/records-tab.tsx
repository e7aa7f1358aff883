import type { Client, PersistedMessage } from "@colloquy/client";
import { Button, IconButton, RotateCw } from "@colloquy/ui/parts";
import { memo, useCallback, useEffect, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Moment } from "../design/moment.tsx";
import { JsonTree } from "./json-tree.tsx";
import { LogItem } from "./log-item.tsx";
import styles from "./developer.module.css";

/** Page size. */
const PAGE = 50;

interface Records {
  readonly records: readonly PersistedMessage[];
  /** True if the last page was full, so that there may be more. */
  readonly hasMore: boolean;
  readonly problem: string | null;
}

/** The messages as stored, oldest first. */
export function RecordsTab({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useConnection();
  const [loaded, setLoaded] = useState<Records | null>(null);
  const [isLoading, setLoading] = useState(false);
  const load = useCallback(
    async (before: readonly PersistedMessage[], signal?: AbortSignal) => {
      setLoading(true);
      try {
        const page = await readRecords(client, sessionId, before.at(-1)?.id, signal);
        setLoaded({ records: [...before, ...page], hasMore: page.length === PAGE, problem: null });
      } catch (error) {
        if (signal?.aborted === true) return;
        setLoaded({ records: before, hasMore: false, problem: (error as Error).message });
      }
      setLoading(false);
    },
    [client, sessionId],
  );
  useEffect(() => {
    const leaving = new AbortController();
    void load([], leaving.signal);
    return () => leaving.abort();
  }, [load]);
  const { records, hasMore, problem } = loaded ?? { records: [], hasMore: false, problem: null };
  return (
    <>
      <div className={styles["toolbar"]}>
        <span className={styles["soft"]}>{countText(loaded)}</span>
        <div className={styles["push"]}>
          <IconButton size="small" label="Load again" disabled={isLoading} onClick={() => void load([])}>
            <RotateCw size={15} />
          </IconButton>
        </div>
      </div>
      <p role="alert" className={styles["note"]}>
        {problem}
      </p>
      <div role="region" aria-label="Records" tabIndex={0} className={styles["scroll"]}>
        {loaded !== null && records.length === 0 && problem === null && (
          <p className={styles["empty"]}>No messages yet.</p>
        )}
        <ol className={styles["list"]}>
          {records.map((record) => (
            <Record key={record.id} record={record} />
          ))}
        </ol>
        {hasMore && (
          <div className={styles["more"]}>
            <Button size="small" disabled={isLoading} onClick={() => void load(records)}>
              Load more
            </Button>
          </div>
        )}
      </div>
    </>
  );
}

/**
 * Reads a page of stored messages. The service may return short pages if messages are long: only an empty
 * page is the end.
 */
async function readRecords(
  client: Pick<Client, "listMessages">,
  sessionId: string,
  last: string | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly PersistedMessage[]> {
  const records: PersistedMessage[] = [];
  for (let after = last; records.length < PAGE; after = records.at(-1)?.id) {
    const limit = PAGE - records.length;
    const part = await client.listMessages(sessionId, { limit, ...(after && { after }), signal });
    if (part.length === 0) break;
    records.push(...part);
  }
  return records;
}

function countText(loaded: Records | null): string {
  if (loaded === null) return "Loading…";
  const { records, hasMore } = loaded;
  return `${records.length} ${records.length === 1 ? "record" : "records"}${hasMore ? ", and there are more" : ""}`;
}

const Record = memo(function Record({ record }: { readonly record: PersistedMessage }): ReactNode {
  return (
    <LogItem
      summary={
        <>
          <span className={styles["name"]}>{record.role}</span>
          <span className={styles["soft"]}>
            <Moment at={record.created_at} />
          </span>
          <span className={styles["id"]}>{record.content.slice(0, 200) || "no text"}</span>
        </>
      }
    >
      <JsonTree value={record} openTo={2} />
    </LogItem>
  );
});
