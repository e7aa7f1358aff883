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

/** A session left in order, with one message of unknown outcome and an answered one. */
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
  if (snapshot === null) throw new Error("The session did not become idle");
  const kinds = async (): Promise<string[]> => {
    await checkLeftBehind([{ session, snapshot }], context);
    return violations.all.map(({ kind }) => kind);
  };
  return { messages, kinds };
}

describe("a session that was left", () => {
  it("is in order if unchanged", async () => {
    const { kinds } = await leftBehind();
    expect(await kinds()).toEqual([]);
  });

  it("may have gained a message of unknown outcome", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    addMessage(messages, "agent", 'You said: "late"');
    expect(await kinds()).toEqual([]);
  });

  it("must have answered that message", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    expect(await kinds()).toEqual(["unanswered"]);
  });

  it("must not have it twice", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    addMessage(messages, "user", "late");
    expect(await kinds()).toContain("doubled");
  });

  it("must not have it before earlier messages", async () => {
    const { messages, kinds } = await leftBehind();
    addMessage(messages, "user", "late");
    messages.unshift(...messages.splice(-1));
    expect(await kinds()).toContain("changed after sealed");
  });

  it("must not have lost messages", async () => {
    const { messages, kinds } = await leftBehind();
    messages.splice(1);
    expect(await kinds()).toContain("changed after sealed");
  });
});
