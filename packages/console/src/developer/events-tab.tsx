import { Button, CopyButton, IconButton, Pause, Play, Trash2, classes } from "@colloquy/ui/parts";
import { memo, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Moment } from "../design/moment.tsx";
import { EVENT_GROUPS, eventLines, type EventGroup, type LoggedEvent } from "./event-log.ts";
import { EventStream, type EventStreamState } from "./event-stream.ts";
import { JsonTree } from "./json-tree.tsx";
import { LogItem } from "./log-item.tsx";
import styles from "./developer.module.css";

/** The stream is open while it has a subscriber, and resumes at its position. */
const NOBODY = () => () => undefined;

/** Returns true if the browser tab is visible. A hidden tab pauses the stream. */
function useIsShown(): boolean {
  return useSyncExternalStore(onVisibility, () => document.visibilityState === "visible");
}

function onVisibility(changed: () => void): () => void {
  document.addEventListener("visibilitychange", changed);
  return () => document.removeEventListener("visibilitychange", changed);
}

/** The events of the session with their ids, from the first stored one, live. */
export function EventsTab({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { fetch, key } = useConnection();
  const stream = useMemo(() => new EventStream({ sessionId, fetch, key }), [sessionId, fetch, key]);
  const isShown = useIsShown();
  const state = useSyncExternalStore(isShown ? stream.subscribe : NOBODY, stream.getSnapshot);
  const [hidden, setHidden] = useState<ReadonlySet<EventGroup>>(new Set());
  const [paused, setPaused] = useState<EventStreamState["log"] | null>(null);
  const log = paused ?? state.log;
  const events = useMemo(() => log.events.filter(({ group }) => !hidden.has(group)), [log, hidden]);
  const hasOther = useMemo(() => log.events.some(({ group }) => group === "other"), [log]);
  const missed = paused === null ? 0 : state.log.received - paused.received;
  return (
    <>
      <div className={styles["toolbar"]}>
        <Groups hidden={hidden} onChange={setHidden} hasOther={hasOther} />
        <div className={styles["push"]}>
          <IconButton
            size="small"
            label={paused === null ? "Pause" : "Go on"}
            onClick={() => setPaused(paused === null ? state.log : null)}
          >
            {paused === null ? <Pause size={15} /> : <Play size={15} />}
          </IconButton>
          <CopyButton label="Copy the events" text={() => eventLines(events)} />
          <IconButton
            size="small"
            label="Clear"
            onClick={() => {
              stream.clear();
              setPaused(null);
            }}
          >
            <Trash2 size={15} />
          </IconButton>
        </div>
      </div>
      <StreamNote state={state} missed={missed} isPaused={paused !== null} onAgain={() => stream.again()} />
      <EventList events={events} isAll={hidden.size === 0} />
    </>
  );
}

function Groups({
  hidden,
  onChange,
  hasOther,
}: {
  readonly hidden: ReadonlySet<EventGroup>;
  readonly hasOther: boolean;
  readonly onChange: (hidden: ReadonlySet<EventGroup>) => void;
}): ReactNode {
  return (
    <fieldset className={styles["groups"]}>
      <legend className="cq-unseen">Shown events</legend>
      {EVENT_GROUPS.filter((group) => group !== "other" || hasOther).map((group) => (
        <label key={group} className={styles["group"]}>
          <input
            type="checkbox"
            checked={!hidden.has(group)}
            onChange={() => onChange(hidden.symmetricDifference(new Set([group])))}
          />
          {group}
        </label>
      ))}
    </fieldset>
  );
}

function StreamNote({
  state: { connection, problem },
  missed,
  isPaused,
  onAgain,
}: {
  readonly state: EventStreamState;
  readonly missed: number;
  readonly isPaused: boolean;
  readonly onAgain: () => void;
}): ReactNode {
  return (
    <p role="status" className={classes(styles["note"], connection === "over" && styles["wrong"])}>
      {connection === "waiting" && `${problem ?? ""} Reconnecting soon. `}
      {connection === "over" && (
        <>
          {problem}{" "}
          <Button size="small" onClick={onAgain}>
            Reconnect
          </Button>
        </>
      )}
      {isPaused && (missed === 0 ? "Paused." : `Paused: ${missed} more by now.`)}
    </p>
  );
}

/** Shows the newest event last, and keeps it in view unless the reader scrolls up. */
function EventList({
  events,
  isAll,
}: {
  readonly events: readonly LoggedEvent[];
  readonly isAll: boolean;
}): ReactNode {
  const region = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && region.current !== null) region.current.scrollTop = region.current.scrollHeight;
  }, [events]);
  return (
    <div
      ref={region}
      role="region"
      aria-label="Events"
      tabIndex={0}
      className={styles["scroll"]}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {events.length === 0 ? (
        <p className={styles["empty"]}>
          {isAll ? "No events yet." : "No events of the selected groups yet."}
        </p>
      ) : (
        <ol className={styles["list"]}>
          {events.map((event) => (
            <EventItem key={event.number} event={event} />
          ))}
        </ol>
      )}
    </div>
  );
}

const EventItem = memo(function EventItem({
  event: { id, type, at, event },
}: {
  readonly event: LoggedEvent;
}): ReactNode {
  return (
    <LogItem
      summary={
        <>
          <span className={styles["name"]}>{type}</span>
          <span className={styles["soft"]}>{at !== null && <Moment at={at} show="precise" />}</span>
          <span className={styles["id"]}>{id ?? "no id"}</span>
        </>
      }
    >
      <JsonTree value={event} openTo={3} />
    </LogItem>
  );
});
