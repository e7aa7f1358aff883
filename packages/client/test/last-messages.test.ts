// Live sessions that load only their latest messages.

import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LiveSession } from "../src/index.ts";
import { serve, type Served } from "./served.ts";

const TURNS = 6;

let served: Served;
let id: string;
let session: LiveSession;

beforeEach(async () => {
  served = await serve();
  id = randomUUID();
  for (let turn = 0; turn < TURNS; turn += 1) {
    const answered = served.direct.sendMessage(id, `Question ${turn}`, { wait: true });
    (await served.model.next()).say(`Answer ${turn}`).finish();
    await answered;
  }
  session = served.client().session(id, { messages: 3 });
});
afterEach(async () => {
  session.stop();
  await served.stop();
});

const texts = (): readonly string[] => session.getSnapshot()?.messages.map(({ content }) => content) ?? [];
const left = (): number | undefined => session.getSnapshot()?.messages_before;
const ALL = Array.from({ length: TURNS }, (_, turn) => [`Question ${turn}`, `Answer ${turn}`]).flat();

async function follow(): Promise<void> {
  session.subscribe(() => undefined);
  await served.until(() => session.getConnection().state === "live");
}

describe.each([true, false])("a session with the option messages (followed: %s)", (isFollowed) => {
  beforeEach(async () => {
    if (isFollowed) await follow();
    else await session.refresh();
  });

  it("loads the latest messages, and earlier ones on request until all are loaded", async () => {
    expect([texts(), left()]).toEqual([ALL.slice(-3), 9]);
    await session.loadEarlier();
    expect([texts(), left()]).toEqual([ALL.slice(-6), 6]);
    // Concurrent calls, such as from a double click, share one load.
    await Promise.all([session.loadEarlier({ count: 4 }), session.loadEarlier({ count: 4 })]);
    expect([texts(), left()]).toEqual([ALL.slice(-10), 2]);
    await session.loadEarlier({ count: 1_000 });
    expect([texts(), left()]).toEqual([ALL, 0]);
    const { seen } = served.proxy;
    const requests = seen.length;
    await session.loadEarlier();
    expect(seen).toHaveLength(requests);
  });

  it("returns the latest messages from send, and keeps earlier ones loaded", async () => {
    await session.loadEarlier();
    const sending = session.send("More", { wait: true });
    (await served.model.next()).say("Yes").finish();
    expect((await sending).messages.map(({ content }) => content)).toEqual([ALL.at(-1), "More", "Yes"]);
    await served.until(() => session.getSnapshot()?.is_processing === false);
    expect([texts(), left()]).toEqual([[...ALL.slice(-6), "More", "Yes"], 6]);
    const stopped = await session.interrupt();
    expect(stopped.messages).toHaveLength(3);
  });

  it("returns the reasoning of an answer whose question is not loaded", async () => {
    const sending = session.send("Think", { wait: true });
    const call = await served.model.next();
    call.emit(
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "Hm." },
      { type: "reasoning-end", id: "r" },
    );
    call.say("Done").finish();
    const answer = (await sending).messages.at(-1)!;
    const other = served.client().session(id, { messages: 1 });
    expect((await other.refresh()).messages).toEqual([answer]);
    expect(await other.reasoning(answer.id)).toMatchObject([{ text: "Hm." }]);
  });

  it("returns no reasoning for an unknown message", async () => {
    expect(await session.reasoning(randomUUID())).toEqual([]);
  });

  it("ignores the option messages in calls", async () => {
    // @ts-expect-error: a smaller number could leave a gap in the snapshot
    expect((await session.refresh({ messages: 1 })).messages).toHaveLength(3);
    // @ts-expect-error: as above
    const sending = session.send("More", { messages: 1, wait: true });
    (await served.model.next()).say("Yes").finish();
    await sending;
    expect(texts().slice(0, 3)).toEqual(ALL.slice(-3));
  });

  it("reloads the latest messages if the first loaded message was removed", async () => {
    const edit = async (): Promise<void> => {
      const { messages } = await served.direct.getState(id);
      await served.direct.sendMessage(id, "Other", { replaces: messages[2]!.id });
      (await served.model.next()).say("Indeed").finish();
      await served.direct.getState(id, { wait: true });
    };
    if (isFollowed) {
      await edit();
      await served.until(() => texts().at(-1) === "Indeed", 100);
    } else {
      await edit();
      await session.loadEarlier();
    }
    expect(texts().slice(-3)).toEqual(["Answer 0", "Other", "Indeed"]);
    expect(texts().length + left()!).toBe(4);
  });
});

describe("a followed session with the option messages", () => {
  it("keeps earlier messages and their changes after a lost connection", async () => {
    await follow();
    await session.loadEarlier();
    const rated = session.getSnapshot()!.messages[1]!.id;
    served.proxy.plan = ({ path }) => (path === "/api/updates" ? "refuse" : null);
    served.proxy.cut();
    await served.direct.giveFeedback(id, rated, { score: 1 });
    await served.direct.sendMessage(id, "More");
    (await served.model.next()).say("Yes").finish();
    await served.until(() => texts().at(-1) === "Yes", 500);
    expect([texts(), left()]).toEqual([[...ALL.slice(-6), "More", "Yes"], 6]);
    expect(session.getSnapshot()!.messages[1]?.feedback?.score).toBe(1);
  });

  it("discards a page that a later event has changed", async () => {
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    session = served
      .client({
        fetch: async (input, init) => {
          const answer = await fetch(input, init);
          if (!answer.url.includes("before=")) return answer;
          asked.resolve();
          await held.promise;
          return answer;
        },
      })
      .session(id, { messages: 3 });
    await follow();
    const { messages } = await served.direct.getState(id);
    const loading = session.loadEarlier();
    await asked.promise;
    await served.direct.giveFeedback(id, messages[7]!.id, { score: -1 });
    await served.direct.renameThread(id, "After the feedback");
    await served.until(() => session.getSnapshot()?.title === "After the feedback");
    held.resolve();
    await loading;
    expect(texts()).toEqual(ALL.slice(-6));
    expect(session.getSnapshot()!.messages[1]?.feedback?.score).toBe(-1);
  });
});
