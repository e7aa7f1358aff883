// Commits with an unknown outcome, after which the service must show the stored state.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { losingAnswerOf, type BeforeCall } from "../../../server/test/intercepted-store.ts";
import { lines, newId, parse, startService, until, type TestService } from "../../../server/test/service.ts";
import { Unavailable } from "../core/errors.ts";
import { call, step } from "../core/commands/testing/decided-session.ts";
import { JournaledTurn } from "./testing/journaled-turn.ts";
import { ANONYMOUS } from "../core/session-access.ts";

const WANTED = { access: ANONYMOUS, app: null, keyApp: null, authorize: () => undefined, utilityModel: null };

let service: TestService;
let before: BeforeCall;
let id: string;
beforeEach(async () => {
  before = () => undefined;
  service = await startService({ beforeCall: (method, parameters) => before(method, parameters) });
  id = newId();
});
afterEach(() => service.close());

/** Creates a session with an answered message and without a title job. */
async function talk(): Promise<void> {
  await service.say(id, "hello");
  (await service.model.next()).say("hi").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
  await until(async () => (await service.snapshot(id)).title === "hello");
}

const mergeState = (): Promise<unknown> => {
  const signal = new AbortController().signal;
  const request = { sessionId: id, access: ANONYMOUS, userState: { chain: "1" }, waitMs: 0, signal };
  return Promise.resolve(service.conversations.state(request, null));
};

const CHANGES: readonly (readonly [string, string, () => Promise<unknown>])[] = [
  ["a message", "chat", () => service.say(id, "again")],
  ["a name", "edit", () => service.threads.rename(id, "Mine", null)],
  ["user state", "open", mergeState],
  [
    "a model",
    "setModel",
    () => service.models.setModel({ ...WANTED, sessionId: id, rig: "demo/assistant" }, null),
  ],
];

describe("a session in memory, when the result of a commit is lost", () => {
  it("is gone after a deletion", async () => {
    await talk();
    before = losingAnswerOf("delete", service.store);
    await expect(service.threads.remove(id, null)).rejects.toMatchObject({ code: "outcome_unknown" });
    await expect(service.snapshot(id)).rejects.toMatchObject({ code: "session_deleted" });
  });

  it.each(CHANGES)("shows the stored state: %s", async (_what, method, change) => {
    await talk();
    const shown = await service.snapshot(id);
    before = losingAnswerOf(method, service.store);
    await expect(change()).rejects.toMatchObject({ status: 503, code: "outcome_unknown" });
    const after = await service.snapshot(id);
    expect(after).not.toEqual(shown);
    await service.evict();
    expect(lines((await service.snapshot(id)).messages).slice(0, 3)).toEqual(
      lines(after.messages).slice(0, 3),
    );
    expect(await service.snapshot(id)).toMatchObject({ title: after.title, user_state: after.user_state });
  });

  it("shows the interrupt, and stops its turn", async () => {
    await service.say(id, "hello");
    const { options } = await service.model.next();
    before = losingAnswerOf("interrupt", service.store);
    await expect(service.conversations.interrupt(id, ANONYMOUS, null)).rejects.toMatchObject({ status: 503 });
    expect(await service.snapshot(id)).toMatchObject({ status: "interrupted", is_processing: false });
    expect(options.abortSignal?.aborted).toBe(true);
  });

  it("shows its generated title", async () => {
    before = losingAnswerOf("finishTitle", service.store);
    await service.say(id, "hello");
    await until(() => service.registry.inMemory(id) === null);
    expect((await service.snapshot(id)).title).toBe("hello");
  });

  it("stays in memory if the store was not changed", async () => {
    await talk();
    before = () => Promise.reject(new Unavailable(503, "store_unavailable", "Nothing was changed.", 1));
    await expect(service.threads.rename(id, "Mine", null)).rejects.toMatchObject({ status: 503 });
    expect((await service.snapshot(id)).title).toBe("hello");
  });
});

describe("a turn, when the result of one of its commits is lost", () => {
  let one: JournaledTurn;
  beforeEach(async () => {
    one = await JournaledTurn.start();
  });
  afterEach(() => one.close());

  it("shows the stored state, and its text continues to stream", async () => {
    await one.journal.stepWithCalls(step(1, "first"), [call("a")], []);
    one.before = losingAnswerOf("toolResult", one.service.store);
    const result = one.journal.toolResult({ callId: "a", output: 1, isError: false, durationMs: 1 });
    await until(() => one.warnings.length > 0);
    expect(one.service.registry.inMemory(one.id)).toBeNull();
    await one.service.clock.advance(200);
    expect(await result).toBe(true);
    const live = one.service.registry.inMemory(one.id)!;
    expect(parse(live.view()).messages[1]?.tool_results).toHaveLength(1);
    one.journal.appendText("second");
    expect(parse(live.view()).messages[1]?.content).toBe("first\n\nsecond");
  });

  it("has each step and its calls once", async () => {
    one.before = losingAnswerOf("stepWithCalls", one.service.store);
    const stored = one.journal.stepWithCalls(step(1, "first"), [call("a")], []);
    await until(() => one.warnings.length > 0);
    await one.service.clock.advance(200);
    expect(await stored).toBe(true);
    const [, message] = (await one.service.snapshot(one.id)).messages;
    expect(message).toMatchObject({ content: "first", tool_calls: [{ id: "a" }] });
    expect(await one.journal.complete(step(2, "second"))).toBe(true);
  });

  it("triggers the next turn if the store has its end", async () => {
    await one.service.say(one.id, "next");
    one.before = losingAnswerOf("complete", one.service.store);
    const ended = one.journal.complete(step(1, "done"));
    await until(() => one.warnings.length > 0);
    await one.service.clock.advance(200);
    expect(await ended).toBe(false);
    expect(one.more).toBe(1);
    expect(lines((await one.service.snapshot(one.id)).messages)[1]).toBe("agent complete: done");
  });
});
