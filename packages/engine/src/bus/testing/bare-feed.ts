import type { IncarnationTarget } from "../../core/commands/command.ts";
import type { CommandStore } from "../../core/ports/driven/store.ts";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { RecordingSink } from "../../../../server/test/service.ts";
import type { SessionNotification } from "../../core/ports/driven/bus.ts";
import { ProcessEventHub } from "../event-hub.ts";
import { Feed } from "../feed.ts";
import { FakeEventLog, titled } from "./fake-event-log.ts";
import { FOR_ANYBODY } from "../../../../server/test/stream-access.ts";
import type { StreamPosition } from "../../core/ports/driven/event-hub.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** Creates a feed whose bus, log and sessions the test controls. */
export function bareFeed(options: { readonly max?: number | null } = {}) {
  const clock = new ManualClock();
  const hub = new ProcessEventHub({ bus: null, clock, logger: SILENT, versions: null });
  const touched: (readonly { readonly id: string; readonly incarnation: string }[])[] = [];
  const log = new FakeEventLog("a");
  const where = (): Promise<StreamPosition> =>
    Promise.resolve({
      spelling: "as-spelled",
      incarnation: log.incarnation,
      head: log.head,
      app: "default",
      boundApp: null,
      owner: null,
      epoch: 0,
      isProcessing: false,
      streaming: null,
      pendingActions: [],
    });
  const position = {
    answer: (): ReturnType<typeof where> => where(),
  };
  /** Commands of one batch are answered together. */
  let batch: { readonly id: string; readonly incarnation: string }[] | null = null;
  const noteUse = async ({ target }: { readonly target: IncarnationTarget }): Promise<null> => {
    if (batch === null) touched.push((batch = []));
    batch.push({ id: target.session, incarnation: target.incarnation });
    await new Promise((resolve) => setImmediate(resolve));
    batch = null;
    return null;
  };
  const feed = new Feed({
    hub,
    events: log,
    clock,
    positions: { ensurePosition: () => position.answer(), position: () => position.answer() },
    cache: { has: () => true },
    store: { execute: noteUse as unknown as CommandStore["execute"] },
    maxStreamsPerSession: options.max ?? null,
  });
  const read = async (sessionId: string, lastEventId: string | null = null) => {
    const sink = new RecordingSink();
    const stream = await feed.open(
      { sessionId, access: FOR_ANYBODY, include: new Set(), lastEventId },
      sink,
      null,
    );
    return { sink, stream };
  };
  const commit = (sessionId: string, incarnation: string, first: number, last: number) => {
    Object.assign(log, { incarnation, head: last });
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => titled(first + index));
    hub.publish(sessionId, {
      kind: "events",
      incarnation,
      epoch: 1,
      events: numbers,
    } satisfies SessionNotification);
  };
  return { hub, clock, touched, log, position, where, feed, read, commit };
}

/** Returns the sequence numbers of the events in the sink. */
export function numbersOf({ sink }: { readonly sink: RecordingSink }): number[] {
  return [...sink.text.matchAll(/^id: \w+-(\d+)$/gm)].map(([, number]) => Number(number));
}
