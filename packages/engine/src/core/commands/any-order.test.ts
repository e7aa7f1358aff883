// Runs commands in random order and checks the invariants after each one.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toPendingAction } from "../action.ts";
import { needsIntent, openCalls, type MessageRecord } from "../message.ts";
import type { StartedTurn } from "../turn.ts";
import { isPending } from "./steering.ts";
import { call, DecidedSession } from "./testing/decided-session.ts";

const COMMANDS = [
  "chat",
  "chat without a place",
  "chat that interrupts",
  "chat that steers",
  "chat that steers",
  "begin a step",
  "begin a step",
  "edit the first message",
  "edit the last message",
  "claim",
  "call tools",
  "call tools that ask",
  "call tools that wait for a place",
  "start the next",
  "wait",
  "wait",
  "approve",
  "approve",
  "deny",
  "let actions expire",
  "result",
  "reject the answer",
  "complete",
  "fail",
  "lose the owner",
  "interrupt",
  "a dead turn writes",
] as const;

const VALID_MS = 1_000;

class Run {
  readonly one = new DecidedSession();
  #turn: StartedTurn | null = null;
  /** The turn whose lease has expired; it may write until another owner claims it. */
  #lost: StartedTurn | null = null;
  readonly #dead: StartedTurn[] = [];
  #calls = 0;
  /** Unsafe calls that have started: none may start twice. */
  readonly #begun = new Set<string>();
  /** Messages that have ended, by id; only an edit changes them. */
  #ended = new Map<string, MessageRecord>();

  do(command: (typeof COMMANDS)[number]): void {
    const turn = this.#turn;
    if (command === "chat") this.#start(this.one.chat("xé\n"));
    else if (command === "chat without a place") this.one.chat("x", { claim: null });
    else if (command === "chat that interrupts") {
      this.#lose();
      this.#start(this.one.chat("x", { onBusy: "interrupt" }));
    } else if (command === "chat that steers") {
      this.#start(this.one.chat("steer", { onBusy: "steer" }));
    } else if (command === "edit the first message" || command === "edit the last message") {
      const users = this.one.messages.filter(({ role }) => role === "user");
      const replaced = users.at(command === "edit the last message" ? -1 : 0);
      if (replaced === undefined) return;
      this.#lose();
      this.#ended.clear();
      this.#start(this.one.chat("edited", { replaces: replaced.id }));
    } else if (command === "claim") this.#claim();
    else if (command === "interrupt") {
      this.#lose();
      this.one.interrupt(null);
    } else if (command === "a dead turn writes") this.#writeDead();
    else if (command === "approve" || command === "deny") this.#decide(command);
    else if (command === "let actions expire") this.one.expire(VALID_MS);
    else if (turn !== null) this.#work(command, turn);
  }

  #work(command: string, turn: StartedTurn): void {
    const { one } = this;
    if (command === "begin a step") {
      const pending = one.openTurns.filter(isPending).map(({ userMessage }) => userMessage.id);
      const canRead = this.#openCalls().length === 0 && pending.length > 0;
      const before = one.openTurns[0]!.agentMessage!;
      const next = one.beginStep(turn)!;
      if (next.id === before.id) return;
      expect(canRead).toBe(true);
      const own = one.messages.filter((message) => message.turn === turn.number);
      expect(own.slice(-1 - pending.length).map(({ id }) => id)).toEqual([...pending, next.id]);
    } else if (command === "call tools") {
      const calls = [call(`${(this.#calls += 1)}`), call(`${(this.#calls += 1)}`, "unsafe")];
      one.callTools(turn, "s", calls);
      for (const { id } of calls) this.#begin(id);
    } else if (command === "call tools that ask") this.#ask(turn);
    else if (command === "call tools that wait for a place") {
      const calls = Array.from({ length: 2 }, () => call(`${(this.#calls += 1)}`, "unsafe"));
      one.callTools(
        turn,
        "s",
        calls.map((call) => ({ ...call, phase: "allowed" })),
      );
    } else if (command === "start the next") this.#startNext(turn);
    else if (command === "wait") this.#wait(turn);
    else if (command === "result") {
      const ended = this.#running().at(-1);
      if (ended !== undefined) this.#end(turn, ended.id);
    } else if (command === "lose the owner") {
      one.loseOwner();
      this.#lost = turn;
      this.#turn = null;
    } else if (command === "reject the answer") {
      expect(one.reject(turn, "r")).toBe(true);
    } else if (command === "fail") {
      expect(one.fail(turn, "f")).toBe(true);
      this.#lose();
    } else if (this.#openCalls().some(({ phase }) => phase === "asked")) {
      this.#wait(turn);
    } else {
      this.#finishCalls(turn);
      expect(one.complete(turn, "c")).toBe(true);
      this.#lose();
    }
  }

  /** Stores the results of calls without an action, which must precede the end or the wait of the turn. */
  #finishCalls(turn: StartedTurn): void {
    while (this.#startNext(turn)) continue;
    for (const { id } of this.#running()) this.#end(turn, id);
  }

  #openCalls() {
    return openCalls(this.one.openTurns[0]!.agentMessage!);
  }

  /** Returns the calls that may be running. */
  #running() {
    return this.#openCalls().filter((call) => call.phase !== "asked" && !needsIntent(call));
  }

  #startNext(turn: StartedTurn): boolean {
    const next = this.#openCalls().find(needsIntent);
    if (next === undefined) return false;
    this.one.startCalls(turn, [next.id]);
    this.#begin(next.id);
    return true;
  }

  #begin(id: string): void {
    const effect = this.#openCalls().find((call) => call.id === id)?.effect;
    if (effect !== "unsafe") return;
    expect(this.#begun.has(id)).toBe(false);
    this.#begun.add(id);
  }

  #end(turn: StartedTurn, callId: string): void {
    const outcome = { callId, output: 1, isError: false, durationMs: 1 };
    this.one.result(turn, outcome);
  }

  /** Stores a step with three calls, two of which need a decision. */
  #ask(turn: StartedTurn): void {
    const ids = Array.from({ length: 3 }, () => `${(this.#calls += 1)}`);
    const calls = ids.map((id) => call(id, "unsafe"));
    const asked = { kind: "approval", request: { tool: "t", input: {} } } as const;
    const actions = ids
      .slice(0, 2)
      .map((id) => ({ id: `action-${id}`, callId: id, asked, validMs: VALID_MS }));
    this.one.callTools(turn, "s", calls, actions);
    this.#begin(ids[2]!);
  }

  #wait(turn: StartedTurn): void {
    this.#finishCalls(turn);
    const waits = this.one.openTurns[0]!.actions.length > 0;
    expect(this.one.wait(turn)).toBe(waits ? "waits" : "runnable");
    this.#lose();
  }

  #decide(decision: "approve" | "deny"): void {
    const action = this.one.actions.find(({ status }) => status === "pending");
    if (action !== undefined) expect(this.one.decide(action.id, decision).kind).toMatch(/decided|expired/);
  }

  #start(outcome: ReturnType<DecidedSession["chat"]>): void {
    if (outcome.kind === "accepted" && outcome.started !== null) this.#turn = outcome.started;
  }

  #claim(): void {
    if (!this.one.openTurns.some(({ turn }) => turn.runnable)) return;
    this.#lose();
    this.#turn = this.one.claim();
    const again = this.#turn?.openCalls ?? [];
    expect(again.filter(({ id }) => this.#begun.has(id))).toEqual([]);
  }

  #lose(): void {
    for (const turn of [this.#turn, this.#lost]) if (turn !== null) this.#dead.push(turn);
    this.#turn = null;
    this.#lost = null;
  }

  #writeDead(): void {
    const before = this.one.session;
    for (const dead of this.#dead) {
      expect(this.one.complete(dead, "from the dead")).toBe(false);
    }
    expect(this.one.session).toBe(before);
  }

  check(): void {
    const { one } = this;
    const open = one.openTurns;
    expect(one.session.status === "processing").toBe(open.length > 0);
    expect(one.events.map(({ number }) => number)).toEqual(one.events.map((_, index) => index + 1));
    expect(one.session.head).toBe(one.events.length);
    // Only the first turn is running or runnable.
    const [first, ...rest] = open.map(({ turn }) => turn);
    expect(rest.every(({ state, runnable }) => state === "queued" && !runnable)).toBe(true);
    if (first !== undefined) expect(first.runnable).toBe(one.owner === null && first.state !== "waiting");
    if (first?.state === "waiting") expect(one.owner).toBeNull();
    this.#checkActions();
    expect(one.foldedMessages()).toEqual(one.wireMessages());
    // The bytes are counted change by change, never by summing up all messages.
    expect(one.session.messageBytes).toBe(bytesOf(one.wireMessages()));
    expect(one.session.eventBytes).toBe(bytesOf(one.events.slice(one.floor).map(({ event }) => event)));
    expect(one.messages.map(({ position }) => position)).toEqual(one.messages.map((_, index) => index + 1));
    for (const { status, toolCalls, toolResults, role } of one.messages) {
      if (status === "streaming") expect(open[0]?.agentMessage?.status).toBe("streaming");
      else
        expect(toolResults.map(({ call_id }) => call_id).toSorted()).toEqual(
          toolCalls.map(({ id }) => id).toSorted(),
        );
      if (role === "assistant") expect(status).not.toBe("queued");
    }
    this.#checkEnded();
    this.#checkSteering();
    const results = one.messages.flatMap(({ toolResults }) => toolResults);
    const ids = results.map(({ call_id }) => call_id);
    expect(new Set(ids).size).toBe(ids.length);
    const unknown = results.filter(({ output }) => output === "outcome unknown");
    expect(unknown.filter(({ call_id }) => !this.#begun.has(call_id))).toEqual([]);
  }

  #checkEnded(): void {
    const { messages } = this.one;
    for (const [id, message] of this.#ended)
      expect(messages.find((other) => other.id === id)).toEqual(message);
    const ended = messages.filter(
      ({ role, status }) =>
        status === "interrupted" || status === "failed" || (role === "assistant" && status === "complete"),
    );
    this.#ended = new Map(ended.map((message) => [message.id, message]));
  }

  /** Messages steer the first turn only, and a turn's messages have increasing steps. */
  #checkSteering(): void {
    const { one } = this;
    const numbers = new Set(one.turns.map(({ number }) => number));
    for (const message of one.messages) {
      expect(numbers.has(message.turn)).toBe(true);
      if (message.extras?.steering?.status === "pending") expect(message.status).toBe("queued");
      if (message.extras?.steps?.to !== undefined) expect(message.status).toBe("complete");
    }
    for (const turn of one.turns) {
      const own = one.messages.filter((message) => message.turn === turn.number);
      const answers = own.filter(({ role }) => role === "assistant");
      expect(answers.at(-1)?.position ?? null).toBe(turn.agentPosition);
      expect(own[0]?.position).toBe(turn.userPosition);
      const places = answers.flatMap(({ extras }) =>
        [extras?.steps?.from ?? 1, extras?.steps?.to ?? []].flat(),
      );
      expect(places).toEqual(places.toSorted((left, right) => left - right));
    }
  }

  /** An action is pending exactly while a call of an open turn waits for it, and the events report it. */
  #checkActions(): void {
    const { one } = this;
    const pending = one.actions.filter(({ status }) => status === "pending");
    const asking = one.openTurns.flatMap(({ agentMessage }) =>
      agentMessage === null ? [] : openCalls(agentMessage).filter(({ phase }) => phase === "asked"),
    );
    expect(pending.map(({ callId }) => callId)).toEqual(asking.map(({ id }) => id));
    if (one.openTurns[0]?.turn.state === "waiting") expect(pending).not.toEqual([]);
    const told = new Map<unknown, unknown>();
    for (const { event } of one.events) {
      if (event.type !== "system_event") continue;
      const { type, payload } = event.item;
      if (type === "action_requested") told.set(payload["id"], payload);
      if (type === "action_resolved") expect(told.delete(payload["id"])).toBe(true);
    }
    expect([...told.values()]).toEqual(pending.map(toPendingAction));
  }
}

function bytesOf(values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => sum + Buffer.byteLength(JSON.stringify(value)), 0);
}

describe("any commands in any order", () => {
  it("keep a session processing while it has open turns, run one turn at a time, and emit every change", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...COMMANDS), { maxLength: 40 }), (commands) => {
        const run = new Run();
        for (const command of commands) {
          run.do(command);
          run.check();
        }
      }),
      { numRuns: 500 },
    );
  });
});
