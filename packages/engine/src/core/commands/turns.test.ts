import { describe, expect, it } from "vitest";
import { MAX_ATTEMPTS } from "../turn.ts";
import { call, DecidedSession, RIGS } from "./testing/decided-session.ts";
import { startTurn } from "./turns.ts";

describe("a turn of a dead owner", () => {
  it("keeps its agent message, with the text of its finished steps, under a new epoch", () => {
    const one = new DecidedSession();
    const first = one.start("one");
    one.callTools(first, "First.", [call("a"), call("b", "idempotent"), call("c", "unsafe")]);
    one.loseOwner();
    const again = one.claim()!;
    expect(again).toMatchObject({
      attempt: 2,
      stepsDone: 1,
      agentMessage: { id: first.agentMessage.id, content: "First." },
    });
    expect(again.epoch).toBeGreaterThan(first.epoch);
    expect(one.types).toEqual(["message_updated"]);
    expect([...one.last.obsoleteCheckpoints]).toEqual([1]);
    expect(one.complete(first, "from the dead")).toBe(false);
    expect(one.complete(again, "Second.")).toBe(true);
  });

  it("repeats its open calls, except calls with side effects, whose outcome is unknown", () => {
    const one = new DecidedSession();
    one.callTools(one.start("one"), "", [call("a"), call("b", "idempotent"), call("c", "unsafe")]);
    one.loseOwner();
    expect(one.claim()?.openCalls.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(one.messages[1]?.toolResults).toMatchObject([
      { call_id: "c", output: "outcome unknown", is_error: true },
    ]);
  });

  it("fails after the third attempt with a reason, and the next queued turn can run", () => {
    const one = new DecidedSession();
    one.start("one");
    one.chat("two");
    for (let attempt = 2; attempt <= MAX_ATTEMPTS; attempt += 1) {
      one.loseOwner();
      expect(one.claim()?.attempt).toBe(attempt);
    }
    one.loseOwner();
    expect(one.claim()).toBeNull();
    expect(one.notices).toEqual(["turn_crashed"]);
    expect(one.turns).toMatchObject([{ state: "failed", failure: "turn_crashed" }, { runnable: true }]);
    expect(one.session.status).toBe("processing");
    expect(one.claim()).toMatchObject({ number: 2 });
  });

  it("leaves the session idle if it fails and nothing is queued", () => {
    const one = new DecidedSession();
    one.start("one");
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      one.loseOwner();
      one.claim();
    }
    expect(one.session.status).toBe("idle");
    expect(one.messages[1]?.status).toBe("failed");
  });
});

describe("starting a turn", () => {
  it("throws if it is not runnable", () => {
    const one = new DecidedSession();
    one.start("one");
    const open = one.openTurns[0]!;
    const claim = { owner: "me", agentMessageId: "x" };
    expect(() => one.change((draft) => startTurn(draft, open, claim, []))).toThrow("not runnable");
  });

  it("gives the process everything that it needs", () => {
    const one = new DecidedSession();
    const turn = one.start("one", { publicKey: "0xa", clientId: "client", userState: { a: 1 } });
    expect(turn).toMatchObject({
      sessionId: one.session.id,
      sessionKey: 7,
      incarnation: "abc",
      app: "default",
      model: "demo/assistant",
      clientId: "client",
      publicKey: "0xa",
      userState: { a: 1 },
      stepsDone: 0,
      openCalls: [],
    });
  });
});

describe("a queued turn whose model was removed from the App", () => {
  it("starts with the App's default and a notice", () => {
    const one = new DecidedSession();
    one.change((draft) => draft.update({ model: "gone/model", modelChosen: true }));
    one.chat("one", { claim: null, models: ["gone/model"] });
    expect(one.claim()).toMatchObject({ model: RIGS[0] });
    expect(one.session).toMatchObject({ model: RIGS[0], modelChosen: false });
    expect(one.notices).toEqual(["model_gone"]);
  });
});
