import { afterEach, describe, expect, it } from "vitest";
import { createRandom } from "./harness/random.ts";
import { checkLeftBehind } from "./load.ts";
import { addMessage, startScriptedService, type ScriptedService } from "./scripted-service.ts";
import { SessionClient } from "./session-client.ts";
import { comeToRest } from "./settlement.ts";

const services: ScriptedService[] = [];

afterEach(() => {
  for (const service of services.splice(0)) service.stop();
});

/** A session that was left in order, with one message that nobody had an answer to, and another one that was answered. */
async function leftBehind() {
  const service = await startScriptedService(null, () => []);
  services.push(service);
  const { context, messages, violations } = service;
  const session = new SessionClient(context, createRandom(1));
  await session.follower.close();
  session.ledger.send("early").acknowledged = session.ledger.now();
  session.ledger.send("late");
  addMessage(messages, "user", "early");
  addMessage(messages, "agent", 'You said: "early"');
  const snapshot = await comeToRest(session, violations);
  if (snapshot === null) throw new Error("It does not come to rest");
  const kinds = async (): Promise<string[]> => {
    await checkLeftBehind([{ session, snapshot }], context);
    return violations.all.map(({ kind }) => kind);
  };
  return { messages, kinds };
}

describe("a session that was left", () => {
  it("is in order when it is as it was", async () => {
    const { kinds } = await leftBehind();
    expect(await kinds()).toEqual([]);
  });

  it("may have got a message since that nobody had had an answer to", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    addMessage(messages, "agent", 'You said: "late"');
    expect(await kinds()).toEqual([]);
  });

  it("may not leave that one unanswered", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    expect(await kinds()).toEqual(["unanswered"]);
  });

  it("may not have got it twice", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    addMessage(messages, "user", "late");
    expect(await kinds()).toContain("doubled");
  });

  it("may not have got it before what was there", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    messages.unshift(...messages.splice(-1));
    expect(await kinds()).toContain("changed after sealed");
  });

  it("may not have lost what it had", async () => {
    const { messages, kinds } = await leftBehind();
    messages.splice(1);
    expect(await kinds()).toContain("changed after sealed");
  });
});
