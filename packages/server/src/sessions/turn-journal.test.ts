import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BeforeCall } from "../../test/intercepted-store.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { lines, newId, parse, startService, until, type TestService } from "../../test/service.ts";
import { call, step } from "../core/decisions/decided-session.suite.ts";
import { Unavailable } from "../core/errors.ts";
import type { SessionNote } from "../core/ports/bus.ts";
import type { StartedTurn } from "../core/turn.ts";
import { StoredTurnJournal } from "./turn-journal.ts";

interface Call {
  readonly method: string;
  readonly at: number;
  readonly parameters: readonly unknown[];
}

let service: TestService;
let id: string;
let calls: Call[];
let before: BeforeCall;
let turn: StartedTurn;
let journal: StoredTurnJournal;
let stop: AbortController;
let warnings: string[];
let more: number;

beforeEach(async () => {
  calls = [];
  warnings = [];
  more = 0;
  before = () => undefined;
  const clock = new ManualClock();
  service = await startService({
    clock,
    beforeCall: (method, parameters) => {
      calls.push({ method, parameters, at: clock.monotonic() });
      return before(method, parameters);
    },
    // Turns wait in the store, where this test takes them.
    adjust: (config) => ({ ...config, limits: { ...config.limits, maxRunning: 0 } }),
  });
  service.leases.stop();
  id = newId();
  await service.say(id, "hello");
  turn = await claim();
  stop = new AbortController();
  journal = journalOf(turn);
  await journal.open();
  calls = [];
});
afterEach(async () => {
  journal.close();
  await service.close();
});

async function claim(): Promise<StartedTurn> {
  const [committed] = await service.store.turns.claim("me", [newId()], []);
  const started = committed === undefined ? null : service.registry.settle(committed).outcome;
  if (started === null) throw new Error("No turn could be claimed");
  return started;
}

function journalOf(started: StartedTurn): StoredTurnJournal {
  return new StoredTurnJournal(started, {
    store: service.store.turns,
    registry: service.registry,
    bus: service.bus,
    clock: service.clock,
    logger: { debug() {}, info() {}, warn: (_fields, text) => void warnings.push(text), error() {} },
    signal: stop.signal,
    onMore: () => void (more += 1),
  });
}

const checkpoints = () => calls.filter(({ method }) => method === "turns.checkpoint");
/** Offset and text of each checkpoint that was tried. */
const saved = () => checkpoints().map(({ parameters: [, offset, text] }) => [offset, text]);
const round = () => service.store.probe();
const stored = async () => {
  await round();
  return (
    await service.store.sessions.open({ id, birth: null, load: true }, { userState: null, publicKey: null })
  )?.loaded?.checkpointed;
};
const content = async () => (await service.snapshot(id)).messages[1]?.content;
const failing = (method: string, times: number, error: () => Error = full): BeforeCall => {
  let left = times;
  return (called) => (called === method && left-- > 0 ? Promise.reject(error()) : undefined);
};
const full = (): Error => new Unavailable(507, "insufficient_storage", "The disk is full.", 30);

describe("text that streams", () => {
  it("is shown at once, and on disk within 250 ms", async () => {
    journal.say("one ");
    expect(parse(service.registry.inMemory(id)!.view()).messages[1]?.content).toBe("one ");
    await service.clock.advance(100);
    journal.say("two");
    await service.clock.advance(100);
    expect(saved()).toEqual([[0, "one two"]]);
    expect(await stored()).toBe("one two");
    journal.say(" three");
    await service.clock.advance(200);
    expect(saved().at(-1)).toEqual([7, " three"]);
    expect(await stored()).toBe("one two three");
    await service.clock.advance(10_000);
    expect(saved()).toHaveLength(2);
  });

  it("goes to the disk as soon as the disk is free, when it became due while the disk was slow", async () => {
    const slow = Promise.withResolvers<void>();
    before = (method) =>
      method === "turns.checkpoint" && checkpoints().length === 1 ? slow.promise : undefined;
    journal.say("one");
    await service.clock.advance(210);
    journal.say("two");
    await service.clock.advance(290);
    expect(saved()).toHaveLength(1);
    slow.resolve();
    await until(() => checkpoints().length === 2);
    expect(checkpoints()[1]?.at).toBe(500);
    expect(await stored()).toBe("onetwo");
  });

  it("that the store did not take is tried again with what was said since, at its place", async () => {
    before = failing("turns.checkpoint", 2);
    journal.say("ab");
    await service.clock.advance(200);
    journal.say("cd");
    await service.clock.advance(200);
    journal.say("ef");
    await service.clock.advance(200);
    await round();
    journal.say("gh");
    await service.clock.advance(200);
    expect(saved()).toEqual([
      [0, "ab"],
      [0, "abcd"],
      [0, "abcdef"],
      [6, "gh"],
    ]);
    expect(await stored()).toBe("abcdefgh");
    expect(warnings).toHaveLength(2);
  });

  it("is not tried again when its step has ended meanwhile", async () => {
    const gate = Promise.withResolvers<void>();
    before = (method) =>
      method === "turns.checkpoint" && checkpoints().length === 1 ? gate.promise : undefined;
    journal.say("one");
    await service.clock.advance(200);
    await journal.stepWithCalls(step(1, "one"), [call("a")]);
    gate.reject(full());
    await round();
    journal.say("two");
    await service.clock.advance(400);
    expect(saved()).toEqual([
      [0, "one"],
      [0, "two"],
    ]);
    expect(await content()).toBe("one\n\ntwo");
  });

  it("is announced with its place in the message, a step's first text apart from the steps before", async () => {
    const deltas: unknown[] = [];
    service.bus.listen((_id, note) => note.kind === "delta" && deltas.push([note.offset, note.text]));
    journal.say("one");
    journal.say(" step");
    await journal.stepWithCalls(step(1, "one step"), []);
    journal.say("two");
    expect(deltas).toEqual([
      [0, "one"],
      [3, " step"],
      [8, "\n\ntwo"],
    ]);
  });

  it("is no longer kept when the turn was stopped or is over", async () => {
    journal.say("lost");
    stop.abort();
    await service.clock.advance(1_000);
    expect(saved()).toEqual([]);
    stop = new AbortController();
    journal = journalOf(turn);
    journal.say("lost too");
    journal.close();
    await service.clock.advance(1_000);
    expect(saved()).toEqual([]);
    expect(service.clock.timers).toBeGreaterThan(0);
  });
});

describe("a store that fails for a while", () => {
  it("holds the turn up and does not end it", async () => {
    before = failing("turns.complete", 3);
    const done = journal.complete(step(1, "done"));
    await service.clock.advance(199);
    expect(calls.filter(({ method }) => method === "turns.complete")).toHaveLength(1);
    await service.clock.advance(1 + 400 + 800);
    expect(await done).toBe(true);
    expect(lines((await service.snapshot(id)).messages)[1]).toBe("agent complete: done");
    expect(warnings).toEqual(Array.from({ length: 3 }, () => "a turn waits for the store"));
  });

  it("holds it up at its beginning too, until its session is in memory", async () => {
    const other = newId();
    await service.say(other, "hello");
    const started = (await service.store.turns.claim("me", [newId()], []))[0]!.outcome!;
    service.registry.forget(other, started.life);
    before = failing("sessions.open", 2);
    const opened = journalOf(started).open();
    await service.clock.advance(200);
    expect(service.registry.inMemory(other)).toBeNull();
    await service.clock.advance(400);
    await opened;
    expect(service.registry.inMemory(other)).not.toBeNull();
  });

  it("never holds it up longer than five seconds at a time, nor after it was stopped", async () => {
    before = failing("turns.toolResult", 1_000);
    const written = journal.toolResult({ callId: "a", output: 1, isError: false, durationMs: 1 });
    await service.clock.advance(60_000);
    const times = () => calls.filter(({ method }) => method === "turns.toolResult").map(({ at }) => at);
    expect(times().slice(0, 7)).toEqual([0, 200, 600, 1_400, 3_000, 6_200, 11_200]);
    stop.abort();
    expect(await written).toBe(false);
    const tried = times();
    await service.clock.advance(10_000);
    expect(times()).toEqual(tried);
  });

  it("is not waited for when it is a defect that fails", async () => {
    before = failing("turns.complete", 1, () => new Error("defect"));
    await expect(journal.complete(step(1, "x"))).rejects.toThrow("defect");
  });

  it("does not fail a turn for a tool's progress", async () => {
    await journal.stepWithCalls(step(1, ""), [call("a")]);
    before = failing("turns.toolProgress", 1);
    journal.toolProgress("a", 1);
    await round();
    expect(warnings).toEqual(["a tool's progress was not stored"]);
    expect(await journal.complete(step(2, "done"))).toBe(true);
  });
});

describe("what a turn writes", () => {
  it("is announced in the order in which it was committed, whoever else writes", async () => {
    await journal.stepWithCalls(step(1, ""), [call("a"), call("b")]);
    const numbers: number[] = [];
    const heads: number[] = [];
    service.bus.listen((_id, note: SessionNote) => {
      if (note.kind !== "events") return;
      numbers.push(...note.events.map(({ number }) => number));
      heads.push(service.registry.inMemory(id)!.head);
    });
    const result = (callId: string) =>
      journal.toolResult({ callId, output: 1, isError: false, durationMs: 1 });
    const first = service.registry.inMemory(id)!.head + 1;
    await Promise.all([
      result("b"),
      service.conversations.rename(id, "Mine"),
      service.say(id, "two"),
      result("a"),
      journal.complete(step(2, "done")),
      service.conversations.rename(id, "Yours"),
    ]);
    expect(numbers).toEqual(numbers.map((_, index) => first + index));
    // What is announced has been applied.
    expect(heads.at(-1)).toBe(numbers.at(-1));
    expect(heads).toEqual(heads.toSorted((left, right) => left - right));
  });

  it("rings for the turn that waits behind it, and only then", async () => {
    await service.say(id, "two");
    await journal.complete(step(1, "done"));
    expect(more).toBe(1);
    turn = await claim();
    journal = journalOf(turn);
    await journal.complete(step(1, "done"));
    expect(more).toBe(1);
  });

  it("is refused once the turn was interrupted, its session deleted, or somebody else has taken it over", async () => {
    await service.conversations.interrupt(id, null);
    expect(await journal.history(1_000)).toBeNull();
    expect(await journal.stepWithCalls(step(1, "x"), [])).toBe(false);
    expect(await journal.complete(step(1, "x"))).toBe(false);
    expect(await journal.fail({ code: "c", message: "m" })).toBe(false);
    await service.conversations.remove(id);
    expect(await journal.complete(step(1, "x"))).toBe(false);
    await journal.open();
    expect(await service.store.sessions.find(id)).toBeNull();
  });

  it("says nothing into the next life of its session", async () => {
    await service.conversations.remove(id);
    const fresh = await service.snapshot(id);
    journal.say("from the dead");
    await service.clock.advance(1_000);
    expect(await service.snapshot(id)).toEqual(fresh);
    expect(await stored()).toBe("");
  });

  it("keeps what was said when it fails, on disk or not", async () => {
    await journal.stepWithCalls(step(1, "one"), []);
    journal.say("tw");
    expect(await journal.fail({ code: "model_failed", message: "It failed." })).toBe(true);
    expect(lines((await service.snapshot(id)).messages)[1]).toBe("agent failed: one\n\ntw");
  });
});
