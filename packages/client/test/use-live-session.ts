// A followed session on the real service behind the proxy.

import { randomUUID } from "node:crypto";
import { afterEach, beforeEach } from "vitest";
import type { ClientOptions, LiveSession, SessionUpdate, Snapshot } from "../src/index.ts";
import { serve, type Served } from "./served.ts";

/** Events from now on, and how the loop ended: with an error, or "ended". */
interface Recorded {
  readonly updates: SessionUpdate[];
  readonly ended: Promise<unknown>;
}

export interface LiveSessionTrial {
  readonly served: Served;
  readonly session: LiveSession;
  /** Switches to another session, of a client with these options. */
  readonly begin: (options: ClientOptions) => void;
  /** The connection state. */
  readonly state: () => string;
  readonly lastContent: () => string | undefined;
  readonly isIdle: () => boolean;
  readonly record: (signal?: AbortSignal) => Recorded;
  /** The service's snapshot. */
  readonly truth: () => Promise<Snapshot>;
}

/** Creates a service and a session for each test of a file. */
export function useLiveSession(): LiveSessionTrial {
  let served: Served;
  let session: LiveSession;
  beforeEach(async () => {
    served = await serve();
    session = served.client().session(randomUUID());
  });
  afterEach(async () => {
    session.stop();
    await served.stop();
  });
  return {
    get served() {
      return served;
    },
    get session() {
      return session;
    },
    begin: (options) => {
      session = served.client(options).session();
    },
    state: () => session.getConnection().state,
    lastContent: () => session.getSnapshot()?.messages.at(-1)?.content,
    isIdle: () => session.getSnapshot()?.is_processing === false,
    record: (signal) => recorded(session, signal),
    truth: () => served.direct.getState(session.id),
  };
}

function recorded(session: LiveSession, signal?: AbortSignal): Recorded {
  const updates: SessionUpdate[] = [];
  const loop = async (): Promise<void> => {
    for await (const update of session.updates({ signal })) updates.push(update);
  };
  return {
    updates,
    ended: loop().then(
      () => "ended",
      (error: unknown) => error,
    ),
  };
}

/** Builds the last answer's text from its creation and the deltas. */
export function readText(updates: readonly SessionUpdate[]): string {
  return updates.reduce((text, update) => {
    if (update.type === "message_created") return update.message.content;
    if (update.type !== "message_delta") return text;
    return update.offset === 0 ? update.text : text + update.text;
  }, "");
}

/** Lists each message event with its content. */
export function messageEvents(updates: readonly SessionUpdate[]): string[] {
  return updates.flatMap((update) =>
    "message" in update && typeof update.message === "object"
      ? [`${update.type} ${update.message.sender} ${update.message.status}: ${update.message.content}`]
      : [],
  );
}
