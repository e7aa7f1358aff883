// Random histories in random batches: a session always equals the fold of its log, and its log equals the
// notifications.

import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "../harness.ts";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { openCalls, wireBytesOf } from "@colloquy/engine/internal/core/message";
import type { Committed, StoredSession } from "@colloquy/engine/internal/core/ports/driven/session-store";
import type { NumberedEvent } from "@colloquy/engine/internal/core/session-event";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { NO_USAGE, type StartedTurn } from "@colloquy/engine/internal/core/turn";
import { foldEvents, shownOf, type Shown } from "./fixtures/reference-fold.ts";
import { givenStore, type Given, type OpenStore } from "./fixtures/given-store.ts";
import {
  MODEL,
  askOf,
  callOf,
  chatInput,
  claimOf,
  clientToolOf,
  everything,
  identityOf,
  step,
  target,
} from "./fixtures/scenario.ts";

const session = fc.nat({ max: 1 });
const turn = fc.nat({ max: 20 });
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });

const REASONED = [{ type: "reasoning", text: "Let me think." }];
const EXTRAS = {
  data: { é: [1, null] },
  sources: [{ id: "1", url: "https://example.com/é" }],
  parts: REASONED,
};

const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("chat"),
      session,
      text,
      claims: fc.boolean(),
      onBusy: fc.constantFrom("enqueue", "reject", "interrupt", "steer", "steer"),
      replaces: fc.option(fc.nat({ max: 9 })),
      key: fc.option(fc.constantFrom("a", "b")),
      publicKey: fc.option(fc.constantFrom("0xa", "0xb")),
      userState: fc.option(
        fc
          .dictionary(fc.constantFrom("a", "b", "__proto__"), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
          // JSON turns -0 into 0, as on the wire.
          .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("interrupt"), session, streamed: fc.option(turn) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rename"), session, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("title"), turn, text }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("model"), session, rig: fc.constantFrom(MODEL, "local/one") }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove"), session }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("fork"), session, through: fc.option(fc.nat({ max: 9 })) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("claim"), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("checkpoint"), turn, text }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("calls"), turn, text, unsafe: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("result"), turn, isError: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("ask"),
      turn,
      validMs: fc.constantFrom(5, 60_000),
      client: fc.constantFrom("none", "once", "repeatable"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait"), turn }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("decide"), session, approves: fc.boolean(), action: turn }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("complete"), turn, text, extras: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reject"), turn, text }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("claimAction"), session, renews: fc.boolean(), action: turn }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("expire"), ms: fc.constantFrom(10, 10, 10, 31_000) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("begin"), turn }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail"), turn, text }) },
);
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;
type CommandOf<Kind extends Command["kind"]> = Extract<Command, { readonly kind: Kind }>;

/** One random history of two sessions. */
class History {
  readonly ids = [randomUUID(), randomUUID()] as const;
  readonly #given: Given;
  readonly #turns: StartedTurn[] = [];
  readonly #announced = new Map<string, NumberedEvent[]>();
  /** Copies as they were made, by incarnation. */
  readonly #copies = new Map<string, Shown>();
  #steps = 0;

  constructor(given: Given) {
    this.#given = given;
  }

  async run(command: Command): Promise<void> {
    const { turns } = this.#given.store;
    switch (command.kind) {
      case "chat":
        return await this.#chat(command);
      case "rename":
        return this.#note(
          await this.#given.store.execute({
            kind: "edit",
            target: { session: this.#id(command.session), birth: null, load: false, access: null },
            input: { title: command.text },
          }),
        );
      case "model": {
        const choice = { app: "default", rig: command.rig, utilityModel: null };
        return this.#note(
          await this.#given.store.execute({
            kind: "setModel",
            target: target(this.#id(command.session)),
            input: choice,
          }),
        );
      }
      case "remove":
        return void (await this.#given.store.execute({
          kind: "delete",
          target: { session: this.#id(command.session), birth: null, load: false, access: null },
          input: null,
        }));
      case "fork":
        return await this.#fork(command);
      case "interrupt":
        return await this.#interrupt(command);
      case "claim":
        return await this.#claim(command);
      case "crash":
        return void (await turns.releaseDeadLeases("nobody"));
      case "decide":
        return await this.#decide(command);
      case "claimAction":
        return await this.#claimAction(command);
      case "expire":
        await this.#given.clock.advance(command.ms);
        for (const committed of await this.#given.store.executeEach({ kind: "expireActions", limit: 3 }))
          this.#note(committed);
        return;
      case "title": {
        const started = this.#turnAt(command.turn);
        if (started === null) return;
        return this.#note(
          await this.#given.store.execute({
            kind: "finishTitle",
            target: { session: started.sessionId, incarnation: started.incarnation },
            input: { title: command.text, turn: started.number },
          }),
        );
      }
      default: {
        const started = this.#turnAt(command.turn);
        return started === null ? undefined : await this.#progress(command, started);
      }
    }
  }

  /** Checks the invariants after every batch. */
  async check(): Promise<void> {
    await Promise.all(this.ids.map((id) => this.#checkSession(id)));
  }

  async #checkSession(id: string): Promise<void> {
    if ((await this.#given.store.sessions.find(id)) === null) return;
    const stored = await everything(this.#given.store, id);
    // Responses may arrive out of commit order, because a database releases locks before it responds.
    const announced = (this.#announced.get(stored.session.incarnation) ?? []).toSorted(
      (one, other) => one.number - other.number,
    );
    expect(announced.map(({ number }) => number)).toEqual(announced.map((_event, index) => index + 1));
    // The log begins with the last removal, or else after a copy.
    const removal = announced.findLast(({ event }) => event.type === "messages_removed");
    const copy = this.#copies.get(stored.session.incarnation);
    const floor = removal === undefined ? (copy?.head ?? 0) : removal.number - 1;
    expect(stored.events).toEqual(announced.slice(floor));
    expect((await this.#given.store.events.after(id, stored.session.head, 0))?.floor).toBe(floor);
    expect(foldEvents(announced.slice(copy?.head ?? 0), copy)).toEqual(shownOf(stored));
    this.#checkMessages(stored);
    this.#checkSizes(stored, stored.events);
  }

  async end(): Promise<void> {
    await Promise.all(
      this.ids.map((id) =>
        this.#given.store.execute({
          kind: "delete",
          target: { session: id, birth: null, load: false, access: null },
          input: null,
        }),
      ),
    );
  }

  #checkSizes({ session, messages }: StoredSession, events: readonly NumberedEvent[]): void {
    expect(session.messageBytes).toBe(messages.reduce((sum, message) => sum + wireBytesOf(message), 0));
    const texts = events.map(({ event }) => JSON.stringify(event));
    expect(session.eventBytes).toBe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  }

  #checkMessages({ session: { status }, messages }: StoredSession): void {
    const streaming = messages.filter((message) => message.status === "streaming");
    const queued = messages.filter((message) => message.status === "queued");
    expect(streaming.length).toBeLessThanOrEqual(1);
    expect(status === "processing").toBe(streaming.length + queued.length > 0);
    expect(messages.map(({ position }) => position)).toEqual(messages.map((_message, index) => index + 1));
    for (const message of messages) {
      if (message.status === "interrupted" || message.status === "failed")
        expect(openCalls(message)).toEqual([]);
    }
  }

  async #chat({
    session,
    text,
    claims,
    onBusy,
    key,
    publicKey,
    userState,
    replaces,
  }: CommandOf<"chat">): Promise<void> {
    const known = await this.#given.store.sessions.messages(this.#id(session), null, 100, null);
    const users = Array.isArray(known) ? known.filter(({ role }) => role === "user") : [];
    const replaced = replaces === null ? undefined : users.at(-1 - (replaces % (users.length + 1)));
    const input = chatInput(text, {
      onBusy,
      publicKey,
      userState,
      replaces: replaced?.id ?? null,
      maxQueued: 2,
      claim: claims ? claimOf() : null,
      idempotency: key === null ? null : { key, digest: text },
    });
    const committed = await this.#given.store.execute({
      kind: "chat",
      target: target(this.#id(session)),
      input,
    });
    if (committed === null) throw new Error("A chat that may create its session has not");
    this.#note(committed);
    const { outcome } = committed;
    if (typeof outcome === "object" && outcome.kind === "accepted" && outcome.started !== null)
      this.#turns.push(outcome.started);
  }

  async #decide({ session, approves, action }: CommandOf<"decide">): Promise<void> {
    const { actions } = this.#given.store;
    const known = (await actions.list(this.#id(session), 3)) ?? [];
    const { id, asked, claim } = known[action % Math.max(1, known.length)] ?? { id: "none" };
    const decision = approves ? "approve" : "deny";
    const result = approves && asked?.kind === "client_tool" ? { output: 1 } : null;
    this.#note(
      await this.#given.store.execute({
        kind: "decideAction",
        target: { session: this.#id(session), birth: null, load: false, access: null },
        input: { action: id, decision, result, claim: claim?.token ?? null },
      }),
    );
  }

  async #claimAction({ session, renews, action }: CommandOf<"claimAction">): Promise<void> {
    const known = (await this.#given.store.actions.list(this.#id(session), 3)) ?? [];
    const { id, claim } = known[action % Math.max(1, known.length)] ?? { id: "none" };
    this.#note(
      await this.#given.store.execute({
        kind: "claimAction",
        target: { session: this.#id(session), birth: null, load: false, access: null },
        input: { action: id, renews: renews ? (claim?.token ?? null) : null, token: randomUUID() },
      }),
    );
  }

  async #fork({ session, through }: CommandOf<"fork">): Promise<void> {
    const origin = this.#id(session);
    const known = await this.#given.store.sessions.messages(origin, null, 100, null);
    const messages = Array.isArray(known) ? known : [];
    const last = through === null ? null : messages[through % (messages.length + 1)];
    const committed = await this.#given.store.execute({
      kind: "fork",
      target: target(this.#id(session + 1), true),
      input: { origin, through: last?.id ?? null, access: ANONYMOUS, messageId: randomUUID() },
    });
    if (committed?.outcome !== "ok" || committed.loaded === null) return;
    this.#copies.set(committed.session.incarnation, shownOf(committed.loaded));
    this.#note(committed);
  }

  async #interrupt({ session, streamed }: CommandOf<"interrupt">): Promise<void> {
    const started = streamed === null ? null : this.#turnAt(streamed);
    const text =
      started === null
        ? null
        : { messageId: started.agentMessage.id, epoch: started.epoch, text: "streamed" };
    this.#note(
      await this.#given.store.execute({
        kind: "interrupt",
        target: target(this.#id(session)),
        input: { streamed: text },
      }),
    );
  }

  async #claim({ count }: CommandOf<"claim">): Promise<void> {
    const ids = Array.from({ length: count }, () => randomUUID());
    for (const committed of await this.#given.store.executeEach({
      kind: "claimTurns",
      owner: "owner",
      agentMessageIds: ids,
      fullProviders: [],
      models: {},
    })) {
      this.#note(committed);
      if (committed.outcome !== null) this.#turns.push(committed.outcome);
    }
  }

  async #progress(
    command: CommandOf<
      "checkpoint" | "calls" | "ask" | "wait" | "result" | "reject" | "begin" | "complete" | "fail"
    >,
    started: StartedTurn,
  ): Promise<void> {
    const identity = identityOf(started);
    this.#steps += 1;
    const number = this.#steps;
    if (command.kind === "checkpoint") {
      await this.#given.store.turns.checkpoint([{ turn: identity, offset: 0, text: command.text }]);
    } else if (command.kind === "calls") {
      const effect = command.unsafe ? "unsafe" : "read";
      const call = {
        id: `call-${number}`,
        name: "t",
        arguments: {},
        status: "running",
        effect,
        step: number,
      } as const;
      this.#note(
        await this.#given.store.execute({
          kind: "stepWithCalls",
          target: { turn: identity },
          input: { step: step(number, command.text), calls: [call], actions: [] },
        }),
      );
    } else if (command.kind === "ask") {
      const calls = [callOf(`asks-${number}`), callOf(`call-${number}`, { effect: "unsafe" })];
      const clientTool = clientToolOf({ repeatable: command.client === "repeatable" });
      const asked = askOf(`asks-${number}`, {
        validMs: command.validMs,
        ...(command.client !== "none" && { asked: clientTool }),
      });
      this.#note(
        await this.#given.store.execute({
          kind: "stepWithCalls",
          target: { turn: identity },
          input: { step: step(number, "s"), calls, actions: [asked] },
        }),
      );
    } else if (command.kind === "begin") {
      this.#note(
        await this.#given.store.execute({
          kind: "beginStep",
          target: { turn: identity },
          input: { step: number, agentMessageId: randomUUID() },
        }),
      );
    } else if (command.kind === "wait") {
      this.#note(await this.#given.store.execute({ kind: "wait", target: { turn: identity }, input: null }));
    } else if (command.kind === "result") {
      const callId = started.openCalls[0]?.id ?? `call-${number - 1}`;
      const outcome = { callId, output: { number }, isError: command.isError, durationMs: 1 };
      this.#note(
        await this.#given.store.execute({
          kind: "toolResult",
          target: { turn: identity },
          input: { outcome, starts: [] },
        }),
      );
    } else if (command.kind === "complete") {
      const usage = { ...NO_USAGE, totalTokens: number };
      this.#note(
        await this.#given.store.execute({
          kind: "complete",
          target: { turn: identity },
          input: { step: { ...step(number, command.text, { usage }), ...(command.extras && EXTRAS) } },
        }),
      );
    } else if (command.kind === "reject") {
      const parts = [...REASONED, { type: "text", text: command.text }];
      this.#note(
        await this.#given.store.execute({
          kind: "rejectStep",
          target: { turn: identity },
          input: { step: step(number, "", { parts }) },
        }),
      );
    } else {
      this.#note(
        await this.#given.store.execute({
          kind: "fail",
          target: { turn: identity },
          input: { text: command.text, failure: { code: "model_error", message: "m" } },
        }),
      );
    }
  }

  #note(committed: Committed<unknown> | null): void {
    if (committed === null) return;
    const { incarnation } = committed.session;
    const [first] = committed.events;
    expect(committed.events.map(({ number }) => number)).toEqual(
      committed.events.map((_event, index) => (first?.number ?? 0) + index),
    );
    this.#announced.set(incarnation, [...(this.#announced.get(incarnation) ?? []), ...committed.events]);
  }

  /** Returns a started turn, with index 0 for the newest; many of them may no longer write. */
  #turnAt(index: number): StartedTurn | null {
    const { length } = this.#turns;
    return length === 0 ? null : (this.#turns[length - 1 - (index % length)] ?? null);
  }

  #id(index: number): string {
    return this.ids[index % 2] ?? this.ids[0];
  }
}

export function describeFold(openStore: OpenStore): void {
  describe("random histories", () => {
    const given = givenStore(openStore, "all");

    it("leave every session equal to the fold of its log, and every log equal to the notifications", {
      timeout: 120_000,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(command, { minLength: 1, maxLength: 4 }), { maxLength: 25, size: "max" }),
          async (batches) => {
            const history = new History(given);
            for (const batch of batches) {
              await Promise.all(batch.map((each) => history.run(each)));
              await history.check();
            }
            await history.end();
          },
        ),
        // Stops shrinking a failure before the test times out.
        { numRuns: 50, interruptAfterTimeLimit: 90_000, markInterruptAsFailure: true },
      );
    });
  });
}
