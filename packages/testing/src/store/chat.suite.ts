import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { IDEMPOTENCY_KEPT_MS } from "@colloquy/engine/internal/core/commands/chat";
import { toWireMessage } from "@colloquy/engine/internal/core/message";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  MODEL,
  target,
  existing,
  open,
  rename,
  claimOf,
  chatInput,
  chat,
  chatWith,
  startTurn,
  complete,
  load,
  allEvents,
  everything,
  types,
} from "./fixtures/scenario.ts";

export function describeChat(openStore: OpenStore): void {
  describe("chat", () => {
    const given = givenStore(openStore, "all");

    it("creates nothing without permission, and reports that the session does not exist", async () => {
      const id = randomUUID();
      const idempotency = { key: "k", digest: "d" };
      const input = chatInput("hello", { claim: claimOf(), idempotency });
      const absent = { ...target(id, true), birth: null };
      expect(await given.store.execute({ kind: "chat", target: absent, input })).toBeNull();
      expect(await given.store.sessions.find(id)).toBeNull();
      expect(await given.store.jobs.isKeyUsed(id, "k")).toBe(false);
      await chat(given.store, id, "first");
      expect((await given.store.execute({ kind: "chat", target: absent, input }))?.outcome).toMatchObject({
        kind: "accepted",
        turn: 2,
      });
    });

    it("stores the session, the message, its turn and its events together, and starts the turn", async () => {
      const id = randomUUID();
      const claim = claimOf("me");
      const input = chatInput("hello", { claim, clientId: "client", publicKey: "0xa", userState: { a: 1 } });
      const committed = await chatWith(given.store, target(id, true), input);
      expect(committed.created).toBe(true);
      expect(committed.outcome).toMatchObject({ kind: "accepted", turn: 1, wantsTitle: true });
      const started = committed.outcome.kind === "accepted" ? committed.outcome.started : null;
      expect(started).toMatchObject({
        sessionId: id,
        sessionKey: committed.session.key,
        number: 1,
        epoch: committed.session.epoch,
        incarnation: committed.session.incarnation,
        app: "default",
        model: MODEL,
        attempt: 1,
        stepsDone: 0,
        userText: "hello",
        openCalls: [],
        clientId: "client",
        publicKey: "0xa",
        userState: { a: 1 },
      });
      expect(committed.session).toMatchObject({ status: "processing", messageCount: 2, turnCount: 1 });
      const { messages, systemEvents } = await load(given.store, id);
      expect(messages).toMatchObject([
        { position: 1, id: input.messageId, turn: 1, role: "user", content: "hello", status: "complete" },
        {
          position: 2,
          id: claim.agentMessageId,
          turn: 1,
          role: "assistant",
          content: "",
          status: "streaming",
        },
      ]);
      expect(committed.loaded).toEqual({
        session: committed.session,
        messages,
        systemEvents,
        pendingActions: [],
        checkpointed: "",
      });
      expect(await allEvents(given.store, id)).toEqual(committed.events);
      expect(types(committed.events)).toEqual([
        "state_changed",
        "message_created",
        "message_created",
        "state_changed",
      ]);
    });

    it("numbers events without gaps, in order", async () => {
      const id = randomUUID();
      const first = await chat(given.store, id, "one", { claim: claimOf() });
      const second = await chat(given.store, id, "two");
      const renamed = await rename(given.store, existing(id), "Mine");
      const announced = [...first.events, ...second.events, ...(renamed?.events ?? [])];
      expect(announced.map(({ number }) => number)).toEqual(announced.map((_event, index) => index + 1));
      expect(await allEvents(given.store, id)).toEqual(announced);
      expect(renamed?.session.head).toBe(announced.length);
    });

    it("leaves the turn to be claimed if this process has no free slot", async () => {
      const id = randomUUID();
      const { outcome, session } = await chat(given.store, id, "hello");
      expect(outcome).toMatchObject({ kind: "accepted", turn: 1, started: null });
      expect(session).toMatchObject({ status: "processing", messageCount: 1 });
      expect((await load(given.store, id)).messages).toMatchObject([{ role: "user", status: "queued" }]);
    });

    it("leaves the turn to be claimed if its provider is at its limit", async () => {
      const id = randomUUID();
      const full = { claim: claimOf(), fullProviders: ["demo"] };
      expect((await chat(given.store, id, "hello", full)).outcome).toMatchObject({ started: null });
    });

    it("queues messages behind the running turn up to the limit, and rejects more", async () => {
      const id = randomUUID();
      await startTurn(given.store, id, "one");
      const input = { claim: claimOf(), maxQueued: 2 };
      expect((await chat(given.store, id, "two", input)).outcome).toMatchObject({ turn: 2, started: null });
      expect((await chat(given.store, id, "three", input)).outcome).toMatchObject({ turn: 3, started: null });
      const before = await everything(given.store, id);
      const refused = await chat(given.store, id, "four", input);
      expect(refused).toMatchObject({ outcome: { kind: "rejected", reason: "queue_full" }, events: [] });
      expect(await everything(given.store, id)).toEqual(before);
      expect(before.messages.map(({ content }) => content)).toEqual(["one", "", "two", "three"]);
    });

    it("is rejected during processing under onBusy `reject`", async () => {
      const id = randomUUID();
      await startTurn(given.store, id, "one");
      const before = await everything(given.store, id);
      const refused = await chat(given.store, id, "two", { onBusy: "reject", userState: { a: 1 } });
      expect(refused.outcome).toEqual({ kind: "rejected", reason: "session_busy" });
      expect(refused.session).toEqual(before.session);
      expect(await everything(given.store, id)).toEqual(before);
    });

    it("stores nothing if rejected, not even its session", async () => {
      const id = randomUUID();
      const input = chatInput("hello", { userState: { note: "x".repeat(9000) }, claim: claimOf() });
      const refused = await chatWith(given.store, target(id, true), input);
      expect(refused).toMatchObject({
        outcome: { kind: "rejected", reason: "user_state_too_large" },
        created: false,
        events: [],
        loaded: null,
      });
      expect(await given.store.sessions.find(id)).toBeNull();
    });

    it("returns the current session with a rejection if requested", async () => {
      const id = randomUUID();
      await chat(given.store, id, "hello");
      const before = await load(given.store, id);
      const refused = await chatWith(given.store, target(id, true), chatInput("again", { onBusy: "reject" }));
      expect(refused.outcome).toEqual({ kind: "rejected", reason: "session_busy" });
      expect(refused.loaded).toEqual(before);
    });

    it("rolls back the interrupt of a chat that is then rejected", async () => {
      const id = randomUUID();
      const running = await startTurn(given.store, id, "one");
      const before = await everything(given.store, id);
      const tooLarge = { note: "x".repeat(9000) };
      const refused = await chat(given.store, id, "two", { onBusy: "interrupt", userState: tooLarge });
      expect(refused.outcome).toEqual({ kind: "rejected", reason: "user_state_too_large" });
      expect(await everything(given.store, id)).toEqual(before);
      await complete(given.store, running, "goes on");
    });

    it("interrupts running and queued turns under onBusy `interrupt`, and starts at once", async () => {
      const id = randomUUID();
      const running = await startTurn(given.store, id, "one");
      await chat(given.store, id, "two");
      const streamed = { messageId: running.agentMessage.id, epoch: running.epoch, text: "so far" };
      const started = await startTurn(given.store, id, "three", { onBusy: "interrupt", streamed });
      expect(started.number).toBe(3);
      expect(started.epoch).toBeGreaterThan(running.epoch);
      const { messages, session } = await load(given.store, id);
      expect(messages).toMatchObject([
        { content: "one", status: "complete" },
        { content: "so far", status: "interrupted" },
        { content: "two", status: "interrupted" },
        { content: "three", status: "complete" },
        { content: "", status: "streaming" },
      ]);
      expect(session.status).toBe("processing");
    });

    it("interrupts with the checkpointed text if no process passes newer text", async () => {
      const id = randomUUID();
      const running = await startTurn(given.store, id, "one");
      await given.store.turns.checkpoint([{ turn: running, offset: 0, text: "so far" }]);
      await startTurn(given.store, id, "two", { onBusy: "interrupt" });
      expect((await load(given.store, id)).messages[1]).toMatchObject({
        content: "so far",
        status: "interrupted",
      });
    });

    it("starts the next message at once when the session is idle again", async () => {
      const id = randomUUID();
      await complete(given.store, await startTurn(given.store, id, "one"), "first answer");
      const second = await startTurn(given.store, id, "two");
      expect(second.number).toBe(2);
      const { messages } = await load(given.store, id);
      expect(messages.map(({ content, status }) => [content, status])).toEqual([
        ["one", "complete"],
        ["first answer", "complete"],
        ["two", "complete"],
        ["", "streaming"],
      ]);
    });

    it("keeps every character of a message", async () => {
      const id = randomUUID();
      const text = "quote \" ' \\ \u2028 emoji 👩‍👩‍👧 عربي %00 \t\n end";
      await complete(given.store, await startTurn(given.store, id, text), text);
      const { messages } = await load(given.store, id);
      expect(messages.map(({ content }) => content)).toEqual([text, text]);
      const logged = (await allEvents(given.store, id)).map(({ event }) => event);
      const message = toWireMessage(messages[1]!);
      expect(logged).toContainEqual({ type: "message_completed", message, index: 1 });
    });

    it("keeps the last 100 system events, oldest first", async () => {
      const id = randomUUID();
      await open(given.store, target(id), { userState: null, publicKey: "0xa" });
      for (let index = 0; index < 103; index += 1) {
        await chat(given.store, id, `message ${index}`, { publicKey: "0xb", maxQueued: 1000 });
      }
      const { systemEvents } = await load(given.store, id);
      const announced = (await allEvents(given.store, id)).flatMap(({ number, event }) =>
        event.type === "system_event" ? [{ number, item: event.item }] : [],
      );
      expect(announced).toHaveLength(103);
      expect(systemEvents).toEqual(announced.slice(3));
    });
  });

  describe("an idempotency key", () => {
    const given = givenStore(openStore, "all");

    it("returns the same turn and changes nothing", async () => {
      const id = randomUUID();
      const idempotency = { key: "k", digest: "d" };
      await complete(given.store, await startTurn(given.store, id, "one", { idempotency }), "answer");
      const before = await everything(given.store, id);
      const again = await chat(given.store, id, "one", { idempotency, claim: claimOf() });
      expect(again).toMatchObject({ outcome: { kind: "replayed", turn: 1 }, events: [] });
      expect(await everything(given.store, id)).toEqual(before);
    });

    it("conflicts with another message", async () => {
      const id = randomUUID();
      await chat(given.store, id, "one", { idempotency: { key: "k", digest: "d" } });
      const other = await chat(given.store, id, "two", { idempotency: { key: "k", digest: "other" } });
      expect(other.outcome).toEqual({ kind: "rejected", reason: "idempotency_key_reused" });
      expect((await load(given.store, id)).messages).toHaveLength(1);
    });

    it("belongs to one session", async () => {
      const idempotency = { key: "k", digest: "d" };
      expect((await chat(given.store, randomUUID(), "one", { idempotency })).outcome.kind).toBe("accepted");
      expect((await chat(given.store, randomUUID(), "one", { idempotency })).outcome.kind).toBe("accepted");
    });

    it("is not stored by a rejected chat", async () => {
      const id = randomUUID();
      const idempotency = { key: "k", digest: "d" };
      await startTurn(given.store, id, "one");
      await chat(given.store, id, "two", { idempotency, onBusy: "reject" });
      expect((await chat(given.store, id, "two", { idempotency })).outcome).toMatchObject({ turn: 2 });
    });

    it("can be reused after 24 hours, and then expires 24 hours later", async () => {
      const id = randomUUID();
      const idempotency = { key: "k", digest: "d" };
      await chat(given.store, id, "one", { idempotency });
      await given.clock.advance(IDEMPOTENCY_KEPT_MS - 1);
      expect((await chat(given.store, id, "one", { idempotency })).outcome.kind).toBe("replayed");
      await given.clock.advance(1);
      const other = { key: "k", digest: "other" };
      expect((await chat(given.store, id, "two", { idempotency: other })).outcome).toMatchObject({ turn: 2 });
      expect((await chat(given.store, id, "two", { idempotency: other })).outcome.kind).toBe("replayed");
    });
  });
}
