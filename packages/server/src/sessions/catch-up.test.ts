import { beforeEach, describe, expect, it } from "vitest";
import { until } from "../../test/service.ts";
import type { EventPage } from "../core/ports/driven/event-store.ts";
import type { SessionVersion, StreamedText } from "../core/ports/driven/session-store.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { newSession } from "../core/session.ts";
import { CatchUp } from "./catch-up.ts";
import { Session } from "./session.ts";

const ID = "session";
const LIFE = "a";

/** What the store has, and how it is asked for it; a gate holds its answers back. */
let log: NumberedEvent[];
let floor: number;
let life: string | null;
let epoch: number;
let streamed: { readonly text: string; readonly mark: string } | null;
let asked: string[];
let gate: Promise<void> | null;
let isWorkedOn: boolean;
let superseded: number[];
let session: Session;
let catchUp: CatchUp;

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
  [log, floor, life, epoch, streamed] = [[], 0, LIFE, 1, null];
  [asked, gate, isWorkedOn, superseded] = [[], null, false, []];
  session = new Session({
    session: newSession(1, ID, { life: LIFE, model: "m/m" }, 0),
    messages: [],
    systemEvents: [],
    pendingActions: [],
    checkpointed: "",
  });
  catchUp = new CatchUp({
    versions: {
      of: async (id): Promise<SessionVersion | null> => {
        asked.push("version");
        await gate;
        if (life === null) return null;
        return { id, life, app: null, head: head(), epoch, streamed: streamed?.mark ?? null };
      },
    },
    events: {
      after: async (_id, after, limit): Promise<EventPage | null> => {
        asked.push(`events after ${after}`);
        await gate;
        if (life === null) return null;
        const events = log.filter(({ number }) => number > Math.max(after, floor)).slice(0, limit);
        return { life, head: head(), floor, events };
      },
    },
    sessions: {
      streamedText: async (): Promise<StreamedText | null> => {
        asked.push("text");
        await gate;
        if (life === null) return null;
        return { life, head: head(), epoch, text: streamed?.text ?? "", streamed: streamed?.mark ?? null };
      },
    },
    isWorkedOn: () => isWorkedOn,
    supersede: (_session, newer) => void superseded.push(newer),
  });
});

describe("a session that catches up", () => {
  it("costs a look at its version where nothing has changed", async () => {
    expect(await catchUp.toNow(session)).toBe("current");
    expect(asked).toEqual(["version"]);
  });

  it("costs no look where whoever asks has looked", async () => {
    const seen = { id: ID, life: LIFE, app: null, head: 1, epoch: 3, streamed: null };
    log = [titled(1)];
    expect(await catchUp.toNow(session, seen)).toBe("current");
    expect([asked, session.head, superseded]).toEqual([["events after 0"], 1, [3]]);
  });

  it("is looked at where what was seen is of another life: it may be the one before", async () => {
    const seen = { id: ID, life: "b", app: null, head: 1, epoch: 3, streamed: null };
    expect(await catchUp.toNow(session, seen)).toBe("current");
    expect([asked, superseded]).toEqual([["version"], [1]]);
    life = "b";
    expect(await catchUp.toNow(session, seen)).toBe("gone");
  });

  it("reads what it lacks, page by page, once however many ask", async () => {
    log = Array.from({ length: 450 }, (_, index) => titled(index + 1));
    const both = [catchUp.toNow(session), catchUp.toNow(session)];
    expect(await Promise.all(both)).toEqual(["current", "current"]);
    expect(session.head).toBe(450);
    expect(asked.filter((what) => what !== "version")).toEqual([
      "events after 0",
      "events after 200",
      "events after 400",
    ]);
  });

  it("goes on behind a read that began too early for it", async () => {
    log = [titled(1)];
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const early = catchUp.toHead(session, 1);
    const late = catchUp.toHead(session, 2);
    gate = null;
    log = [titled(1)];
    open.resolve();
    await early;
    log.push(titled(2));
    expect(await late).toBe(true);
    expect(session.head).toBe(2);
  });

  it("takes what is settled here meanwhile, in the order of the log", async () => {
    log = [titled(1), titled(2), titled(3)];
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const reading = catchUp.toHead(session, 3);
    // Its own commit comes back before the others are known, and once more in what is read.
    session.apply([titled(3)]);
    expect([session.head, session.isBehind]).toEqual([0, true]);
    open.resolve();
    expect(await reading).toBe(true);
    expect([session.head, session.isBehind]).toEqual([3, false]);
    expect(session.view().length).toBeGreaterThan(0);
  });

  it("is over when its life is, and tells who works on it here of a newer epoch", async () => {
    epoch = 7;
    await catchUp.toNow(session);
    expect(superseded).toEqual([7]);
    expect(session.epoch).toBe(7);
    life = "b";
    expect(await catchUp.toNow(session)).toBe("gone");
    life = null;
    expect(await catchUp.toNow(session)).toBe("gone");
  });

  it("is loaded anew when what it lacks is not kept any longer, too much, or does not fit", async () => {
    log = [titled(1), titled(2), titled(3)];
    floor = 1;
    expect(await catchUp.toNow(session)).toBe("lost");
    floor = 0;
    log = Array.from({ length: 1_001 }, (_, index) => titled(index + 1));
    expect(await catchUp.toHead(session, 1_001)).toBe(false);
    const settled = { type: "message_completed", message: message("x", "complete") } as const;
    log.push({ number: 1_002, event: settled });
    expect(await catchUp.toHead(session, 1_002)).toBe(false);
  });

  it("fails as the store does, for all that wait for it, and asks again then", async () => {
    log = [titled(1)];
    gate = Promise.reject(new Error("away"));
    const both = [catchUp.toHead(session, 1), catchUp.toHead(session, 1)];
    for (const one of await Promise.allSettled(both)) expect(one.status).toBe("rejected");
    gate = null;
    expect(await catchUp.toHead(session, 1)).toBe(true);
  });
});

describe("text that streams elsewhere", () => {
  const shown = () => session.streaming?.text;
  beforeEach(() => {
    log = [begun(1)];
    streamed = { text: "one", mark: "1 0 3" };
  });

  it("is read when it has changed, and only then", async () => {
    await catchUp.toNow(session);
    expect(shown()).toBe("one");
    asked = [];
    await catchUp.toNow(session);
    expect(asked).toEqual(["version"]);
    streamed = { text: "one two", mark: "1 3 7" };
    await catchUp.toNow(session);
    expect(shown()).toBe("one two");
  });

  it("is read of the next step though that is as long as the one before was", async () => {
    await catchUp.toNow(session);
    log.push({ number: 2, event: { type: "message_updated", message: message("one") } });
    streamed = { text: "two", mark: "1 0 3" };
    await catchUp.toNow(session);
    expect(shown()).toBe("one\n\ntwo");
  });

  it("is shorter when another run of the turn has begun", async () => {
    await catchUp.toNow(session);
    epoch = 2;
    log.push({ number: 2, event: { type: "message_updated", message: message("") } });
    streamed = { text: "o", mark: "1 0 1" };
    await catchUp.toNow(session);
    expect(shown()).toBe("o");
  });

  it("is not read where the turn runs here: what it says is here first", async () => {
    isWorkedOn = true;
    await catchUp.toNow(session);
    expect(asked).not.toContain("text");
    expect(shown()).toBe("");
  });

  it("is not shown when the turn was taken up here while it was read", async () => {
    await catchUp.toNow(session);
    streamed = { text: "one two", mark: "1 3 7" };
    const open = Promise.withResolvers<void>();
    const reading = catchUp.toNow(session);
    gate = open.promise;
    await until(() => asked.at(-1) === "text");
    isWorkedOn = true;
    open.resolve();
    expect(await reading).toBe("current");
    expect(shown()).toBe("one");
  });

  it("belongs to the events that are shown: a session that goes on meanwhile is looked at again", async () => {
    await catchUp.toNow(session);
    streamed = { text: "one two", mark: "1 3 7" };
    const open = Promise.withResolvers<void>();
    const reading = catchUp.toNow(session);
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
