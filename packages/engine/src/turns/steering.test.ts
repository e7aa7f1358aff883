import { describe, expect, it } from "vitest";
import type { Snapshot } from "@colloquy/protocol";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { FoldingReader } from "../../../server/test/folding-reader.ts";
import { lines, newId, parse, recordsOf, until, type TestService } from "../../../server/test/service.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { useRestartableService } from "./testing/use-restartable-service.ts";

let service: TestService;
const { restart } = useRestartableService((started) => (service = started));

const STEER = { busy: "steer" } as const;
const idle = (id: string) => async (): Promise<boolean> => !(await service.snapshot(id)).is_processing;
const steps = ({ messages }: Pick<Snapshot, "messages">): unknown[] =>
  messages.map(({ turn, steps: range, steering }) => [turn, range ?? steering ?? null]);

function reason(call: ScriptedCall, delta: string): ScriptedCall {
  const [type, id] = ["reasoning", "r"] as const;
  return call.emit(
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta },
    { type: `${type}-end`, id },
  );
}

/** Begins a turn whose first step calls a tool, and returns its model call. */
async function begun(id: string) {
  await service.say(id, "go");
  return await service.model.next();
}

describe("a steering message", () => {
  it("reaches the next model call after the results, and the turn continues in another message", async () => {
    const id = newId();
    const reader = new FoldingReader(service, id);
    await reader.connect();
    const first = await begun(id);
    first.say("First.");
    const shown = await service.say(id, "faster", STEER);
    expect(shown.messages.at(-1)).toMatchObject({
      status: "queued",
      turn: 2,
      steering: { status: "pending" },
    });
    first.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    const second = await service.model.next();
    expect(second.prompt.slice(-3).map((message) => message.split(":")[0])).toEqual([
      "assistant",
      "tool",
      "user",
    ]);
    expect(second.prompt.at(-1)).toContain("faster");
    second.say("Second.");
    await until(async () => (await service.snapshot(id)).messages[3]?.content === "Second.");
    const running = await service.snapshot(id);
    expect(lines(running.messages)).toEqual([
      "user complete: go",
      "agent complete: First.",
      "user complete: faster",
      "agent streaming: Second.",
    ]);
    second.callTool("calculator", { expression: "1+2" }, "c2").finish("tool-calls");
    const third = await service.model.next();
    third.say("Third.").finish();
    await until(idle(id));
    const done = await service.snapshot(id);
    expect(lines(done.messages).at(-1)).toBe("agent complete: Second.\n\nThird.");
    expect(steps(done)).toEqual([
      [1, null],
      [1, { from: 1, to: 1 }],
      [1, { status: "read", step: 2 }],
      [1, { from: 2 }],
    ]);
    expect(reader.snapshot).toEqual(done);
    reader.drop();
    // The next turn sees the same conversation.
    await service.say(id, "thanks");
    const next = await service.model.next();
    expect(next.prompt.slice(0, third.prompt.length)).toEqual(third.prompt);
    next.say("Bye.").finish();
  });

  it("is answered by its own turn if the answer ends first", async () => {
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    first.say("Done.").finish();
    const own = await service.model.next();
    expect((await service.snapshot(id)).messages[2]).toMatchObject({
      status: "complete",
      turn: 2,
      steering: { status: "own_turn" },
    });
    own.say("Faster.").finish();
    await until(idle(id));
  });

  it("is answered by its own turn after the last allowed step", async () => {
    await restart((config) => ({ ...config, limits: { ...config.limits, maxSteps: 1 } }));
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    first.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    const own = await service.model.next();
    const { messages } = await service.snapshot(id);
    expect(lines(messages).slice(1)).toEqual(["agent failed: ", "user complete: faster"]);
    expect(messages[2]?.steering).toEqual({ status: "own_turn" });
    own.say("Faster.").finish();
    await until(idle(id));
  });

  it("is read after an answer that did not match its schema", async () => {
    const id = newId();
    const responseSchema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    await service.say(id, "go", { options: { responseSchema } });
    const first = await service.model.next();
    await service.say(id, "in German", STEER);
    first.say("no JSON").finish();
    const second = await service.model.next();
    expect(second.prompt.at(-1)).toContain("in German");
    second.say('{"a":"ja"}').finish();
    await until(idle(id));
    expect((await service.snapshot(id)).messages.at(-1)).toMatchObject({
      data: { a: "ja" },
      steps: { from: 2 },
    });
  });

  it("is interrupted with the turn, and reaches no model", async () => {
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    first.say("so far");
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "so far");
    const stopped = parse(await service.conversations.interrupt(id, ANONYMOUS, null));
    expect(lines(stopped.messages)).toEqual([
      "user complete: go",
      "agent interrupted: so far",
      "user interrupted: faster",
    ]);
    expect(stopped.messages[2]?.steering).toBeUndefined();
    await service.say(id, "again");
    const next = await service.model.next();
    expect(next.prompt.join()).not.toContain("faster");
    next.say("Yes.").finish();
  });

  it("keeps the text of an interrupted turn in the message that streamed it", async () => {
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    first.say("First.").callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    (await service.model.next()).say("Sec");
    await until(async () => (await service.snapshot(id)).messages[3]?.content === "Sec");
    const stopped = parse(await service.conversations.interrupt(id, ANONYMOUS, null));
    expect(lines(stopped.messages).slice(1)).toEqual([
      "agent complete: First.",
      "user complete: faster",
      "agent interrupted: Sec",
    ]);
  });

  it("keeps the text of a failed turn in the message that streamed it, also for the next turn", async () => {
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    first.say("First.").callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    (await service.model.next()).say("Second.").finish("content-filter");
    await until(idle(id));
    expect(lines((await service.snapshot(id)).messages).at(-1)).toBe("agent failed: Second.");
    await service.say(id, "again");
    const next = await service.model.next();
    expect(next.prompt.slice(-3).map((line) => line.replace(/^.*"text":"([^"]*)".*$/, "$1"))).toEqual([
      "faster",
      "Second.",
      "again",
    ]);
    next.say("Yes.").finish();
  });

  it("begins a message with bytes of its own for arguments", async () => {
    const id = newId();
    let call = await begun(id);
    const pad = "x".repeat(60_000);
    const callFour = (step: number): void => {
      for (let n = 0; n < 4; n += 1) call.callTool("calculator", { expression: "1+1", pad }, `${step}-${n}`);
      call.finish("tool-calls");
    };
    for (let step = 1; step <= 4; step += 1) {
      if (step === 4) await service.say(id, "faster", STEER);
      callFour(step);
      call = await service.model.next();
    }
    callFour(5);
    (await service.model.next()).say("Done.").finish();
    await until(idle(id));
    const { messages } = await service.snapshot(id);
    expect(messages.at(-1)?.tool_calls?.map(({ arguments: input }) => input)).toEqual(
      Array.from({ length: 4 }, () => ({ expression: "1+1", pad })),
    );
  });

  it("separates the reasoning of the messages in records", async () => {
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    reason(first, "I add.").callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    reason(await service.model.next(), "I hurry.")
      .say("Done.")
      .finish();
    await until(idle(id));
    const records = await recordsOf(service, id, null, 100, ANONYMOUS, true);
    expect(records.map(({ reasoning }) => reasoning)).toEqual([
      undefined,
      [{ text: "I add.", step: 1 }],
      undefined,
      [{ text: "I hurry.", step: 2 }],
    ]);
  });

  it("is stored once, and found by a repeated chat in the turn that has read it", async () => {
    const id = newId();
    const first = await begun(id);
    const chat = { ...STEER, idempotencyKey: "k" };
    await service.say(id, "faster", chat);
    first.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    const second = await service.model.next();
    const again = await service.say(id, "faster", chat);
    expect(again.messages).toHaveLength(3);
    second.say("Done.").finish();
    await until(idle(id));
  });

  it("is copied by a fork with its turn", async () => {
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    first.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    (await service.model.next()).say("Done.").finish();
    await until(idle(id));
    const copy = newId();
    await service.threads.fork(
      id,
      { session: copy, through: null, admit: async () => undefined },
      ANONYMOUS,
      null,
    );
    const [original, forked] = [await service.snapshot(id), await service.snapshot(copy)];
    expect(lines(forked.messages)).toEqual(lines(original.messages));
    expect(steps(forked)).toEqual(steps(original));
    await service.say(copy, "thanks");
    const next = await service.model.next();
    expect(next.prompt.join()).toContain("faster");
    next.say("Bye.").finish();
  });
});

describe("after a crash", () => {
  it("before the step that would read it, a message is read by the step that follows", async () => {
    const id = newId();
    const first = await begun(id);
    await service.say(id, "faster", STEER);
    first.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    const lost = await service.model.next();
    expect(lost.prompt.at(-1)).toContain("faster");
    await restart();
    const again = await service.model.next();
    expect(again.prompt).toEqual(lost.prompt);
    expect(lines((await service.snapshot(id)).messages)).toEqual([
      "user complete: go",
      "agent complete: ",
      "user complete: faster",
    ]);
    again.say("Done.").finish();
    await until(idle(id));
    expect(steps(await service.snapshot(id)).at(-1)).toEqual([1, { from: 2 }]);
  });

  it("in the first step, a message that arrived during it waits for the second", async () => {
    const id = newId();
    const lost = await begun(id);
    await service.say(id, "faster", STEER);
    await restart();
    const again = await service.model.next();
    expect(again.prompt).toEqual(lost.prompt);
    again.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    const second = await service.model.next();
    expect(second.prompt.at(-1)).toContain("faster");
    second.say("Done.").finish();
    await until(idle(id));
    expect(steps(await service.snapshot(id)).at(2)).toEqual([1, { status: "read", step: 2 }]);
  });

  it("during a later step, a message that arrived during it is read when the step is repeated", async () => {
    const id = newId();
    (await begun(id)).callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    const lost = await service.model.next();
    await service.say(id, "faster", STEER);
    await restart();
    const again = await service.model.next();
    expect(again.prompt).toEqual([...lost.prompt, expect.stringContaining("faster")]);
    again.say("Done.").finish();
    await until(idle(id));
  });
});
