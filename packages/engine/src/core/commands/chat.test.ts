import { describe, expect, it } from "vitest";
import { IDEMPOTENCY_KEPT_MS } from "./chat.ts";
import { DecidedSession, RIGS } from "./testing/decided-session.ts";

const NO_PLACE = { claim: null } as const;

describe("a chat", () => {
  it("starts its turn at once in a free slot, in one transaction with its message and events", () => {
    const one = new DecidedSession();
    const outcome = one.chat("hello");
    expect(outcome).toMatchObject({
      kind: "accepted",
      turn: 1,
      wantsTitle: true,
      runnable: false,
      started: { attempt: 1, userText: "hello" },
    });
    expect(one.lines).toEqual(["user complete: hello", "assistant streaming: "]);
    expect(one.types).toEqual(["message_created", "message_created", "state_changed"]);
    expect(one.session).toMatchObject({ status: "processing", app: "default", epoch: 1 });
    expect(one.owner).toBe("me");
    expect(one.turns).toMatchObject([{ state: "running", runnable: false, attempts: 1, epoch: 1 }]);
  });

  it("waits in the store if no slot is free, and can be claimed", () => {
    const one = new DecidedSession();
    expect(one.chat("hello", NO_PLACE)).toMatchObject({ kind: "accepted", started: null, runnable: true });
    expect(one.lines).toEqual(["user queued: hello"]);
    expect(one.session.status).toBe("processing");
    expect(one.turns).toMatchObject([{ state: "queued", runnable: true }]);
    expect(one.claim()).toMatchObject({ number: 1, userText: "hello" });
    expect(one.lines).toEqual(["user complete: hello", "assistant streaming: "]);
  });

  it("is rejected when its session has reached its size limit, and stores nothing", () => {
    const one = new DecidedSession();
    one.complete(one.start("hello"), "é".repeat(100));
    const { session } = one;
    const left = (session.messageBytes ?? 0) + 2;
    expect(one.chat("two", { maxMessageBytes: left })).toEqual({ kind: "rejected", reason: "session_full" });
    expect(one.session).toBe(session);
    expect(one.chat("é", { maxMessageBytes: left })).toMatchObject({ kind: "accepted" });
  });

  it("is accepted at any size while its session's bytes have not been counted yet", () => {
    const one = new DecidedSession();
    one.complete(one.start("hello"), "hi");
    one.session = { ...one.session, messageBytes: null, eventBytes: null };
    expect(one.chat("two", { maxMessageBytes: 1 })).toMatchObject({ kind: "accepted" });
    expect(one.session).toMatchObject({ messageBytes: null, eventBytes: null });
  });

  it("returns the same turn when repeated, also when its session is full", () => {
    const one = new DecidedSession();
    const idempotency = { key: "k", digest: "d" };
    one.start("hello", { idempotency });
    const previous = { digest: "d", turn: 1, at: one.at };
    expect(one.chat("hello", { idempotency, maxMessageBytes: 1 }, { previous })).toMatchObject({
      kind: "replayed",
    });
  });

  it("waits in the store while its provider is at its limit", () => {
    const one = new DecidedSession();
    expect(one.chat("hello", { fullProviders: ["demo"] })).toMatchObject({ started: null });
    const other = new DecidedSession();
    expect(other.chat("hello", { fullProviders: ["other"] })).toMatchObject({ started: { number: 1 } });
  });

  it("waits behind a running turn, cannot be claimed before it, and follows the running answer", () => {
    const one = new DecidedSession();
    const first = one.start("one");
    const second = { kind: "accepted", turn: 2, started: null, runnable: false, wantsTitle: false };
    expect(one.chat("two")).toMatchObject(second);
    expect(one.turns[1]).toMatchObject({ state: "queued", runnable: false });
    expect(one.types).toEqual(["message_created"]);
    one.complete(first, "1");
    expect(one.turns[1]).toMatchObject({ state: "queued", runnable: true });
    expect(one.session.status).toBe("processing");
    one.claim();
    expect(one.lines).toEqual([
      "user complete: one",
      "assistant complete: 1",
      "user complete: two",
      "assistant streaming: ",
    ]);
  });

  it("is rejected when ten are queued behind the running turn, and stores nothing", () => {
    const one = new DecidedSession();
    one.start("running");
    for (let n = 1; n <= 10; n += 1) expect(one.chat(`waiting ${n}`).kind).toBe("accepted");
    const before = one.session;
    expect(one.chat("one too many")).toEqual({ kind: "rejected", reason: "queue_full" });
    expect(one.session).toBe(before);
  });

  it("is rejected in a session of another App", () => {
    const one = new DecidedSession();
    one.session = { ...one.session, app: "defi" };
    expect(one.chat("hello")).toEqual({ kind: "rejected", reason: "app_mismatch" });
    expect(one.messages).toEqual([]);
  });

  it("requests a title for the first message of an untitled session only", () => {
    const one = new DecidedSession();
    one.session = { ...one.session, title: "Mine", titleSource: "user" };
    expect(one.chat("hello")).toMatchObject({ wantsTitle: false });
    const other = new DecidedSession();
    other.start("hello");
    expect(other.last.wantsTitle).toBe(true);
    other.chat("again");
    expect(other.last.wantsTitle).toBe(false);
  });
});

describe("a chat while the session is processing", () => {
  it("is rejected under onBusy `reject`", () => {
    const one = new DecidedSession();
    expect(one.chat("one", { onBusy: "reject" }).kind).toBe("accepted");
    expect(one.chat("two", { onBusy: "reject" })).toEqual({ kind: "rejected", reason: "session_busy" });
    expect(one.lines).toEqual(["user complete: one", "assistant streaming: "]);
  });

  it("interrupts running and queued turns and starts under onBusy `interrupt`", () => {
    const one = new DecidedSession();
    const first = one.start("one");
    one.chat("two");
    const streamed = { messageId: first.agentMessage.id, epoch: first.epoch, text: "par" };
    const third = one.start("three", { onBusy: "interrupt", streamed });
    expect(one.lines).toEqual([
      "user complete: one",
      "assistant interrupted: par",
      "user interrupted: two",
      "user complete: three",
      "assistant streaming: ",
    ]);
    expect(one.session).toMatchObject({ status: "processing", epoch: third.epoch });
    expect(
      one.last.events.flatMap(({ event }) => (event.type === "state_changed" ? [event.status] : [])),
    ).toEqual(["interrupted", "processing"]);
    expect(one.complete(first, "too late")).toBe(false);
    expect(one.owner).toBe("me");
  });
});

describe("an idempotency key", () => {
  const idempotency = { key: "k", digest: "d" };

  it("returns the same turn whatever the other parameters, and changes nothing", () => {
    const one = new DecidedSession();
    one.start("hello", { idempotency });
    const before = one.session;
    const previous = { digest: "d", turn: 1, at: one.at };
    expect(one.chat("hello", { idempotency, onBusy: "reject" }, { previous })).toEqual({
      kind: "replayed",
      turn: 1,
    });
    expect(one.session).toBe(before);
  });

  it("returns nothing to a chat of another App", () => {
    const one = new DecidedSession();
    one.start("hello", { idempotency });
    const before = one.session;
    for (const digest of ["d", "other"]) {
      const previous = { digest, turn: 1, at: one.at };
      expect(one.chat("hello", { idempotency, app: "other" }, { previous })).toEqual({
        kind: "rejected",
        reason: "app_mismatch",
      });
    }
    expect(one.session).toBe(before);
  });

  it("conflicts with another message", () => {
    const one = new DecidedSession();
    const previous = { digest: "other", turn: 1, at: one.at };
    expect(one.chat("hello", { idempotency }, { previous })).toEqual({
      kind: "rejected",
      reason: "idempotency_key_reused",
    });
  });

  it("expires after 24 hours, to the millisecond", () => {
    const one = new DecidedSession();
    const at = one.at + 1 - IDEMPOTENCY_KEPT_MS;
    expect(one.chat("hello", { idempotency }, { previous: { digest: "d", turn: 1, at: at + 1 } }).kind).toBe(
      "replayed",
    );
    const other = new DecidedSession();
    expect(other.chat("hello", { idempotency }, { previous: { digest: "d", turn: 1, at } }).kind).toBe(
      "accepted",
    );
  });
});

describe("the parameters of a chat", () => {
  it("bind the first wallet; another wallet adds a notice and changes nothing", () => {
    const one = new DecidedSession();
    one.start("one", { publicKey: "0xa" });
    expect(one.session.publicKey).toBe("0xa");
    one.chat("two", { publicKey: "0xa" });
    expect(one.notices).toEqual([]);
    one.chat("three", { publicKey: "0xb" });
    expect(one.session.publicKey).toBe("0xa");
    expect(one.notices).toEqual(["wallet_differs"]);
  });

  it("prove the bound wallet if their sender holds it, and not by holding another one", () => {
    const one = new DecidedSession();
    one.start("one", { publicKey: "0xa", provedWallets: ["0xb"] });
    expect(one.session.walletProved).toBe(false);
    one.chat("two", { publicKey: "0xb", provedWallets: ["0xb"] });
    expect(one.session).toMatchObject({ publicKey: "0xa", walletProved: false });
    one.chat("three", { provedWallets: ["0xa", "0xb"] });
    expect(one.session).toMatchObject({ walletProved: true, walletId: "0xa" });
  });

  it("fix the session to the contract that proves the wallet, and tell holders of another chain's contract", () => {
    const one = new DecidedSession();
    const turn = one.start("one", { publicKey: "0xa", provedWallets: ["eip155:10:0xa"] });
    expect(turn).toMatchObject({ publicKey: "0xa", walletId: "eip155:10:0xa", walletProved: true });
    one.chat("two", { publicKey: "0xa", provedWallets: ["eip155:1:0xa", "eip155:10:0xa"] });
    one.chat("three", { publicKey: "0xa", provedWallets: [] });
    expect(one.notices).toEqual([]);
    for (const other of ["eip155:1:0xa", "0xa"]) {
      one.chat("four", { publicKey: "0xa", provedWallets: [other] });
      expect(one.session.walletId).toBe("eip155:10:0xa");
      expect(one.notices).toEqual(["wallet_differs"]);
    }
  });

  it("do not prove the wallet with another contract at its address", () => {
    const one = new DecidedSession();
    one.start("one", { publicKey: "0xa" });
    one.session = { ...one.session, walletId: "eip155:10:0xa" };
    one.chat("two", { publicKey: "0xa", provedWallets: ["eip155:1:0xa"] });
    expect(one.session).toMatchObject({ walletProved: false, walletId: "eip155:10:0xa" });
  });

  it("merge the user state, and reject the whole chat if it grows too large", () => {
    const one = new DecidedSession();
    const turn = one.start("one", { userState: { evm: { chain_id: 1 } } });
    expect(turn.userState).toEqual({ evm: { chain_id: 1 } });
    const before = one.session;
    expect(one.chat("two", { userState: { big: "x".repeat(9_000) } })).toEqual({
      kind: "rejected",
      reason: "user_state_too_large",
    });
    expect(one.session).toBe(before);
    expect(one.messages).toHaveLength(2);
  });

  it("use the App's default with a notice if the selected model is no longer offered", () => {
    const one = new DecidedSession();
    one.session = { ...one.session, model: "gone/model", modelChosen: true };
    expect(one.start("hello").model).toBe(RIGS[0]);
    expect(one.notices).toEqual(["model_gone"]);
    expect(one.session).toMatchObject({ model: RIGS[0], modelChosen: false });
  });

  it("keep models selected for its App earlier, and drop those of another App silently", () => {
    for (const [modelApp, model, utilityModel] of [
      ["default", RIGS[1], "u/m"],
      ["defi", RIGS[0], null],
    ] as const) {
      const one = new DecidedSession();
      one.session = { ...one.session, model: RIGS[1], modelChosen: true, modelApp, utilityModel: "u/m" };
      expect(one.start("hello").model).toBe(model);
      expect(one.session).toMatchObject({ app: "default", modelChosen: model === RIGS[1], utilityModel });
      expect(one.notices).toEqual([]);
    }
  });

  it("use the App's current default if no model was selected, and keep a selected one", () => {
    const one = new DecidedSession();
    one.session = { ...one.session, model: "old/default" };
    expect(one.start("hello").model).toBe(RIGS[0]);
    expect(one.notices).toEqual([]);
    const other = new DecidedSession();
    other.session = { ...other.session, model: RIGS[1], modelChosen: true };
    expect(other.start("hello").model).toBe(RIGS[1]);
  });
});
