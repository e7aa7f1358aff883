import { beforeEach, describe, expect, it } from "vitest";
import { until } from "../../../server/test/service.ts";
import type { EventPage } from "../core/ports/driven/store.ts";
import type { SessionVersion, StreamedText } from "../core/ports/driven/session-store.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { newSession } from "../core/session.ts";
import { ReplicaSync } from "./replica-sync.ts";
import { Session } from "./session.ts";

const ID = "session";
const LIFE = "a";

/** The contents of the store and the calls it received; a gate delays its answers. */
let log: NumberedEvent[];
let floor: number;
let incarnation: string | null;
let epoch: number;
let streamed: { readonly text: string; readonly mark: string } | null;
let asked: string[];
let gate: Promise<void> | null;
let isWorkedOn: boolean;
let superseded: number[];
let session: Session;
let sync: ReplicaSync;

const titled = (number: number): NumberedEvent => ({
  number,
  event: { type: "title_changed", new_title: `title ${number}` },
});
const message = (content: string, status: "streaming" | "complete" = "streaming") => ({
  id: "m1",
  sender: "agent" as const,
  content,
  created_at: "2026-01-01T00:00:00.000Z",
  status,
});
const begun = (number: number): NumberedEvent => ({
  number,
  event: { type: "message_created", message: message("") },
});
const head = () => log.at(-1)?.number ?? 0;

beforeEach(() => {
  [log, floor, incarnation, epoch, streamed] = [[], 0, LIFE, 1, null];
  [asked, gate, isWorkedOn, superseded] = [[], null, false, []];
  session = new Session({
    session: newSession(1, ID, { incarnation: LIFE, model: "m/m" }, 0),
    messages: [],
    systemEvents: [],
    pendingActions: [],
    checkpointed: "",
  });
  sync = new ReplicaSync({
    versions: {
      of: async (id): Promise<SessionVersion | null> => {
        asked.push("version");
        await gate;
        if (incarnation === null) return null;
        return { id, incarnation, app: null, head: head(), epoch, streamed: streamed?.mark ?? null };
      },
    },
    events: {
      after: async (_id, after, limit): Promise<EventPage | null> => {
        asked.push(`events after ${after}`);
        await gate;
        if (incarnation === null) return null;
        const events = log.filter(({ number }) => number > Math.max(after, floor)).slice(0, limit);
        return { incarnation, head: head(), floor, events };
      },
    },
    sessions: {
      streamedText: async (): Promise<StreamedText | null> => {
        asked.push("text");
        await gate;
        if (incarnation === null) return null;
        return {
          incarnation,
          head: head(),
          epoch,
          text: streamed?.text ?? "",
          streamed: streamed?.mark ?? null,
        };
      },
    },
    running: {
      isRunning: () => isWorkedOn,
      supersede: (_key, newer) => void superseded.push(newer),
    },
  });
});

describe("ReplicaSync", () => {
  it("reads only the version when nothing has changed", async () => {
    expect(await sync.toNow(session)).toBe("current");
    expect(asked).toEqual(["version"]);
  });

  it("reads no version that the caller has already seen", async () => {
    const seen = { id: ID, incarnation: LIFE, app: null, head: 1, epoch: 3, streamed: null };
    log = [titled(1)];
    expect(await sync.toNow(session, seen)).toBe("current");
    expect([asked, session.head, superseded]).toEqual([["events after 0"], 1, [3]]);
  });

  it("ignores a seen version of another incarnation", async () => {
    const seen = { id: ID, incarnation: "b", app: null, head: 1, epoch: 3, streamed: null };
    expect(await sync.toNow(session, seen)).toBe("current");
    expect([asked, superseded]).toEqual([["version"], [1]]);
    incarnation = "b";
    expect(await sync.toNow(session, seen)).toBe("gone");
  });

  it("reads missing events page by page, once for concurrent callers", async () => {
    log = Array.from({ length: 450 }, (_, index) => titled(index + 1));
    const both = [sync.toNow(session), sync.toNow(session)];
    expect(await Promise.all(both)).toEqual(["current", "current"]);
    expect(session.head).toBe(450);
    expect(asked.filter((what) => what !== "version")).toEqual([
      "events after 0",
      "events after 200",
      "events after 400",
    ]);
  });

  it("reads again after a read that began too early", async () => {
    log = [titled(1)];
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const early = sync.toHead(session, 1);
    const late = sync.toHead(session, 2);
    gate = null;
    log = [titled(1)];
    open.resolve();
    await early;
    log.push(titled(2));
    expect(await late).toBe(true);
    expect(session.head).toBe(2);
  });

  it("applies commits of this process meanwhile in log order", async () => {
    log = [titled(1), titled(2), titled(3)];
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const reading = sync.toHead(session, 3);
    // The own commit arrives before the others, and again in the page.
    session.apply([titled(3)]);
    expect([session.head, session.isBehind]).toEqual([0, true]);
    open.resolve();
    expect(await reading).toBe(true);
    expect([session.head, session.isBehind]).toEqual([3, false]);
    expect(session.view().length).toBeGreaterThan(0);
  });

  it("reports a deleted incarnation, and supersedes turns of older epochs", async () => {
    epoch = 7;
    await sync.toNow(session);
    expect(superseded).toEqual([7]);
    expect(session.epoch).toBe(7);
    incarnation = "b";
    expect(await sync.toNow(session)).toBe("gone");
    incarnation = null;
    expect(await sync.toNow(session)).toBe("gone");
  });

  it("applies no events of an incarnation that began between the reads of version and events", async () => {
    const seen = { id: ID, incarnation: LIFE, app: null, head: 1, epoch: 1, streamed: null };
    incarnation = "b";
    log = [titled(1)];
    expect(await sync.toNow(session, seen)).toBe("lost");
    expect(session.head).toBe(0);
  });

  it("reports a session as lost if its missing events are trimmed, too many, or do not fit", async () => {
    log = [titled(1), titled(2), titled(3)];
    floor = 1;
    expect(await sync.toNow(session)).toBe("lost");
    floor = 0;
    log = Array.from({ length: 1_001 }, (_, index) => titled(index + 1));
    expect(await sync.toHead(session, 1_001)).toBe(false);
    const completed = { type: "message_completed", message: message("x", "complete") } as const;
    log.push({ number: 1_002, event: completed });
    expect(await sync.toHead(session, 1_002)).toBe(false);
  });

  it("rejects like the store for all callers, and reads again afterwards", async () => {
    log = [titled(1)];
    gate = Promise.reject(new Error("away"));
    const both = [sync.toHead(session, 1), sync.toHead(session, 1)];
    for (const one of await Promise.allSettled(both)) expect(one.status).toBe("rejected");
    gate = null;
    expect(await sync.toHead(session, 1)).toBe(true);
  });
});

describe("text that streams in another process", () => {
  const shown = () => session.streaming?.text;
  beforeEach(() => {
    log = [begun(1)];
    streamed = { text: "one", mark: "1 0 3" };
  });

  it("is read only when it has changed", async () => {
    await sync.toNow(session);
    expect(shown()).toBe("one");
    asked = [];
    await sync.toNow(session);
    expect(asked).toEqual(["version"]);
    streamed = { text: "one two", mark: "1 3 7" };
    await sync.toNow(session);
    expect(shown()).toBe("one two");
  });

  it("is read for the next step even if that has the same length", async () => {
    await sync.toNow(session);
    log.push({ number: 2, event: { type: "message_updated", message: message("one") } });
    streamed = { text: "two", mark: "1 0 3" };
    await sync.toNow(session);
    expect(shown()).toBe("one\n\ntwo");
  });

  it("may be shorter after another run of the turn began", async () => {
    await sync.toNow(session);
    epoch = 2;
    log.push({ number: 2, event: { type: "message_updated", message: message("") } });
    streamed = { text: "o", mark: "1 0 1" };
    await sync.toNow(session);
    expect(shown()).toBe("o");
  });

  it("is not read if the turn runs here", async () => {
    isWorkedOn = true;
    await sync.toNow(session);
    expect(asked).not.toContain("text");
    expect(shown()).toBe("");
  });

  it("is not shown if the turn started here during the read", async () => {
    await sync.toNow(session);
    streamed = { text: "one two", mark: "1 3 7" };
    const open = Promise.withResolvers<void>();
    const reading = sync.toNow(session);
    gate = open.promise;
    await until(() => asked.at(-1) === "text");
    isWorkedOn = true;
    open.resolve();
    expect(await reading).toBe("current");
    expect(shown()).toBe("one");
  });

  it("is read again if the session changed during the read", async () => {
    await sync.toNow(session);
    streamed = { text: "one two", mark: "1 3 7" };
    const open = Promise.withResolvers<void>();
    const reading = sync.toNow(session);
    gate = open.promise;
    await until(() => asked.at(-1) === "text");
    gate = null;
    log.push({ number: 2, event: { type: "message_completed", message: message("done", "complete") } });
    streamed = null;
    open.resolve();
    expect(await reading).toBe("current");
    expect([session.head, session.isStreaming]).toEqual([2, false]);
  });
});
