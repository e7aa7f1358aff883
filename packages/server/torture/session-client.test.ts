import { afterEach, describe, expect, it } from "vitest";
import { createRandom } from "./harness/random.ts";
import { startScriptedService, type ChatAnswer, type ScriptedService } from "./scripted-service.ts";
import { SessionClient } from "./session-client.ts";

const UNCHANGED = { status: 503, detail: "The store cannot be written right now, and nothing was changed." };
const LOST = { status: 503, detail: "The connection to the store broke during a write." };
const STORED = { status: 503, detail: "What you sent was stored, but cannot be shown right now." };
const SHOWN = { status: 200 };

const open: { readonly service: ScriptedService; readonly session: SessionClient }[] = [];

afterEach(async () => {
  for (const { service, session } of open.splice(0)) {
    await session.follower.close();
    service.stop();
  }
});

async function sessionOf(
  answer: ChatAnswer,
  shown: (sent: string) => readonly string[],
  wholeness?: readonly (number | null)[],
) {
  const service = await startScriptedService(answer, shown, wholeness);
  const { context, violations } = service;
  const session = new SessionClient(context, createRandom(1));
  open.push({ service, session });
  /** Sends until a message was sent without a key, then reads the state; returns the violations. */
  const findsAfterChat = async (): Promise<string[]> => {
    for (let serial = 0; context.messages.sentOnce === 0; serial += 1)
      await session.chat(`Message ${serial}`);
    await session.state();
    expect(context.messages.sent - context.messages.refused).toBe(1);
    return violations.all.map(({ kind }) => kind);
  };
  return { session, context, findsAfterChat };
}

const ONCE = (sent: string) => [sent];
const TWICE = (sent: string) => [sent, sent];
const NOT = () => [];

describe("a message sent once without a key", () => {
  it.each([
    ["is answered with the snapshot", SHOWN, ONCE, []],
    ["is answered with a snapshot without it", SHOWN, NOT, ["lost"]],
    ["is answered, and stored twice", SHOWN, TWICE, ["doubled"]],
    ["is said not to be stored", UNCHANGED, NOT, []],
    ["is said not to be stored, and is", UNCHANGED, ONCE, ["foreign message"]],
    ["is said to be stored", STORED, ONCE, []],
    ["is said to be stored, and is not", STORED, NOT, ["lost"]],
    ["has an answer that leaves it open, and is not stored", LOST, NOT, []],
    ["has an answer that leaves it open, and is stored", LOST, ONCE, []],
    ["has an answer that leaves it open, and is stored twice", LOST, TWICE, ["doubled"]],
    ["has no answer, and is not stored", null, NOT, []],
    ["has no answer, and is stored", null, ONCE, []],
    ["has no answer, and is stored twice", null, TWICE, ["doubled"]],
    ["has an answer that a chat must not get", { status: 500 }, NOT, ["wrong answer"]],
  ])("%s", async (_name, answer, shown, expected) => {
    const { findsAfterChat } = await sessionOf(answer, shown);
    expect(await findsAfterChat()).toEqual(expected);
  });

  it("has an unknown outcome, which is counted, if it had no answer", async () => {
    const { session, context, findsAfterChat } = await sessionOf(null, NOT);
    await findsAfterChat();
    expect([session.doubts, context.messages.inDoubt]).toEqual([1, 1]);
    expect(context.messages.firstTries).toEqual({ asked: 1, acknowledged: 0 });
  });

  it("is acknowledged at the first attempt or never", async () => {
    const { session, context, findsAfterChat } = await sessionOf(SHOWN, ONCE);
    await findsAfterChat();
    expect([session.doubts, context.messages.acknowledged]).toEqual([0, 1]);
    expect(context.messages.firstTries).toEqual({ asked: 1, acknowledged: 1 });
    expect(context.messages.firstTriesAtWhole).toEqual({ asked: 1, acknowledged: 1 });
  });

  it.each([
    ["has met a server that nothing was done to", [7, 7], 1],
    ["has met one that something is being done to", [null, 7], 0],
    ["has met one that something was done to meanwhile", [7, 8], 0],
  ])("%s", async (_name, wholeness, met) => {
    const { context, findsAfterChat } = await sessionOf(SHOWN, ONCE, wholeness);
    await findsAfterChat();
    expect(context.messages.firstTriesAtWhole.asked).toBe(met);
    expect(context.messages.firstTries.asked).toBe(1);
  });
});
