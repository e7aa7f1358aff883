// Tools that run in the client: claims, results, and lost clients.

import { describe, expect, it } from "vitest";
import type { ActionRecord, NewAction } from "../action.ts";
import type { FileRecord } from "../file.ts";
import type { StartedTurn } from "../turn.ts";
import { DENIED, NO_CLIENT } from "./asking.ts";
import { CLAIM_MS, type ClaimOutcome } from "./claim-action.ts";
import { call, DecidedSession } from "./testing/decided-session.ts";

const VALID_MS = 600_000;
const FILE: FileRecord = {
  id: "5d1f8f2e-0a53-4c0e-9b1a-7f0c2d8e6a41",
  app: "default",
  sha256: "a".repeat(64),
  mediaType: "image/png",
  bytes: 10,
  name: "seen.png",
  blob: "default/1",
  createdAt: 1,
  position: null,
  dueAt: null,
};

function ask(callId: string, repeatable = false): NewAction {
  const request = { tool: `tool_${callId}`, input: {} };
  return {
    id: `action-${callId}`,
    callId,
    asked: { kind: "client_tool", request, repeatable },
    validMs: VALID_MS,
  };
}

/** Returns a session whose turn waits for a client to run the call `a`. */
function waiting({ repeatable = false } = {}): { readonly one: DecidedSession; readonly turn: StartedTurn } {
  const one = new DecidedSession();
  const turn = one.start("one");
  one.callTools(turn, "", [call("a", repeatable ? "idempotent" : "unsafe")], [ask("a", repeatable)]);
  one.wait(turn);
  return { one, turn };
}

function claim(one: DecidedSession, token: string, renews: string | null = null): ClaimOutcome {
  return one.run("claimAction", { action: "action-a", renews, token });
}

function approve(one: DecidedSession, token: string | null, result = { output: 1 } as object) {
  return one.run("decideAction", {
    action: "action-a",
    decision: "approve",
    claim: token,
    result: result as { output: number },
  });
}

const resultsOf = (one: DecidedSession) =>
  one.messages[1]?.toolResults.map(({ call_id, output, is_error }) => [call_id, output, is_error]);
const actionOf = (one: DecidedSession): ActionRecord => one.actions[0]!;

describe("a claim", () => {
  it("lasts 30 seconds, and every subscriber sees until when", () => {
    const { one } = waiting();
    const outcome = claim(one, "first");
    expect(outcome).toEqual({ kind: "claimed", claim: { token: "first", expiresAt: one.at + CLAIM_MS } });
    expect(one.last.events.map(({ event }) => event)).toEqual([
      {
        type: "action_claimed",
        id: "action-a",
        claim_expires_at: new Date(one.at + CLAIM_MS).toISOString(),
      },
    ]);
    expect(actionOf(one).claim).toEqual({ token: "first", expiresAt: one.at + CLAIM_MS });
    expect(one.turns[0]?.state).toBe("waiting");
  });

  it("excludes every other claim while it is valid", () => {
    const { one } = waiting();
    claim(one, "first");
    one.at += CLAIM_MS - 3;
    expect(claim(one, "second")).toEqual({ kind: "claimed_otherwise" });
    expect(claim(one, "second", "second")).toEqual({ kind: "claimed_otherwise" });
    expect(actionOf(one).claim?.token).toBe("first");
  });

  it("is renewed by a retry of its request until another client claims the call", () => {
    const { one } = waiting({ repeatable: true });
    claim(one, "first");
    one.at += CLAIM_MS - 2;
    expect(claim(one, "first")).toEqual({
      kind: "claimed",
      claim: { token: "first", expiresAt: one.at + CLAIM_MS },
    });
    one.at += CLAIM_MS + 1;
    claim(one, "second");
    expect(claim(one, "first")).toEqual({ kind: "claimed_otherwise" });
  });

  it("is renewed by its holder, at most until the action expires", () => {
    const { one } = waiting();
    claim(one, "first");
    one.at += CLAIM_MS - 2;
    expect(claim(one, "second", "first")).toEqual({
      kind: "claimed",
      claim: { token: "first", expiresAt: one.at + CLAIM_MS },
    });
    one.at = actionOf(one).expiresAt - 2;
    one.actions = [{ ...actionOf(one), claim: { token: "first", expiresAt: one.at + 2 } }];
    expect(claim(one, "second", "first")).toMatchObject({
      kind: "claimed",
      claim: { expiresAt: actionOf(one).expiresAt },
    });
  });

  it.each([
    ["unknown", "unknown", (_one: DecidedSession) => undefined],
    ["denied", "decided_otherwise", (one: DecidedSession) => one.decide("action-a", "deny")],
    ["expired", "expired", (one: DecidedSession) => one.expire(VALID_MS)],
    ["cancelled", "cancelled", (one: DecidedSession) => one.interrupt()],
  ])("is refused for an action that is %s", (state, kind, end) => {
    const { one } = waiting();
    end(one);
    const action = state === "unknown" ? "nobody" : "action-a";
    expect(one.run("claimAction", { action, renews: null, token: "late" })).toMatchObject({ kind });
    expect(one.last.events).toEqual([]);
  });

  it("is refused for an action that a person decides", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    const asked = { kind: "approval", request: { tool: "tool_a", input: {} } } as const;
    one.callTools(turn, "", [call("a")], [{ ...ask("a"), asked }]);
    expect(claim(one, "first")).toEqual({ kind: "not_claimable" });
    expect(one.decide("action-a", "approve")).toMatchObject({ kind: "decided" });
  });
});

describe("the result of a client tool", () => {
  it.each([
    [{ output: { seen: [1] } }, { seen: [1] }, false],
    [{ output: null }, null, false],
    [{ error: "no camera" }, "no camera", true],
  ])("of %j goes to the model", (result, output, isError) => {
    const { one } = waiting();
    claim(one, "first");
    expect(approve(one, "first", result)).toMatchObject({
      kind: "decided",
      unblocked: 1,
      action: { status: "approved", result, claim: null },
    });
    expect(resultsOf(one)).toEqual([["a", output, isError]]);
    expect(one.claim()).toMatchObject({ openCalls: [] });
    expect(approve(one, "first", result)).toMatchObject({ kind: "decided", unblocked: 0 });
    expect(approve(one, "first", { output: "other" })).toEqual({ kind: "decided_otherwise" });
  });

  it.each([null, "second"])("is refused under the claim %j", (token) => {
    const { one } = waiting();
    expect(approve(one, token)).toEqual({ kind: "not_claimed" });
    claim(one, "first");
    expect(approve(one, token)).toEqual({ kind: "claimed_otherwise" });
    expect(resultsOf(one)).toEqual([]);
  });

  it("may name files of the session, which belong to the message of the call", () => {
    const { one } = waiting();
    one.files = [{ ...FILE, dueAt: one.at + 10_000 }];
    claim(one, "first");
    expect(approve(one, "first", { output: 1, attachments: [FILE.id] })).toMatchObject({ kind: "decided" });
    expect(one.messages[1]?.toolResults).toMatchObject([{ output: 1, attachments: [{ id: FILE.id }] }]);
    expect(one.last.changedFiles.get(FILE.id)).toMatchObject({ position: 2, dueAt: null });
  });

  it.each([
    ["that the session does not have", [], "attachment_not_found"],
    ["that has expired", [{ ...FILE, dueAt: 1 }], "attachment_not_found"],
    ["of another App", [{ ...FILE, app: "closed" }], "attachment_of_other_app"],
  ])("is refused with a file %s, and the claim stays valid", (_what, files, kind) => {
    const { one } = waiting();
    one.files = files;
    claim(one, "first");
    expect(approve(one, "first", { output: 1, attachments: [FILE.id] })).toEqual({ kind });
    expect(resultsOf(one)).toEqual([]);
    expect(approve(one, "first")).toMatchObject({ kind: "decided" });
  });

  it("shares the limit of all outputs of an answer", () => {
    const { one } = waiting();
    one.messages = one.messages.map((message) => ({
      ...message,
      toolResults: [
        { call_id: "z", name: "z", output: "x".repeat(1_024 * 1_024), is_error: false, duration_ms: 1 },
      ],
    }));
    claim(one, "first");
    approve(one, "first", { output: "y".repeat(300) });
    expect(resultsOf(one)?.at(-1)).toEqual(["a", expect.stringContaining("Left out"), false]);
  });

  it.each([
    [null, "claimed_otherwise"],
    ["second", "claimed_otherwise"],
    ["first", "decided"],
  ])("can be denied under the valid claim only: with %j, %s", (token, kind) => {
    const { one } = waiting();
    claim(one, "first");
    expect(
      one.run("decideAction", { action: "action-a", decision: "deny", claim: token, result: null }),
    ).toMatchObject({ kind });
  });

  it("can be denied without a claim while there is none", () => {
    const { one } = waiting();
    expect(one.decide("action-a", "deny")).toMatchObject({ kind: "decided" });
    expect(resultsOf(one)).toEqual([["a", DENIED, true]]);
  });

  it("is an error if no client runs the call in time", () => {
    const { one } = waiting();
    expect(one.expire(VALID_MS)).toBe(1);
    expect(resultsOf(one)).toEqual([["a", NO_CLIENT, true]]);
  });
});

describe("a claim that expires", () => {
  it.each([
    ["the sweep", (one: DecidedSession) => one.run("expireActions", null)],
    ["another claim", (one: DecidedSession) => claim(one, "second")],
    ["a late renewal", (one: DecidedSession) => claim(one, "second", "first")],
    ["a late result", (one: DecidedSession) => approve(one, "first")],
    ["a denial", (one: DecidedSession) => one.decide("action-a", "deny")],
  ])("gives an unsafe call the result `outcome unknown`, found by %s", (_who, find) => {
    const { one } = waiting();
    claim(one, "first");
    one.at += CLAIM_MS - 1;
    expect(find(one)).toMatchObject({ unblocked: 1 });
    expect(actionOf(one)).toMatchObject({ status: "expired", claim: null });
    expect(resultsOf(one)).toEqual([["a", "outcome unknown", true]]);
    expect(one.claim()).toMatchObject({ openCalls: [] });
    expect(claim(one, "third")).toEqual({ kind: "expired", unblocked: 0 });
    expect(approve(one, "first")).toEqual({ kind: "expired", unblocked: 0 });
  });

  it("frees a repeatable call for another client, and announces it", () => {
    const { one } = waiting({ repeatable: true });
    claim(one, "first");
    one.at += CLAIM_MS - 1;
    expect(one.run("expireActions", null)).toEqual({ unblocked: 0 });
    expect(one.types).toEqual(["action_claimed"]);
    expect(one.last.events[0]?.event).toMatchObject({ claim_expires_at: null });
    expect(one.run("expireActions", null)).toBe("skipped");
    expect(claim(one, "other", "first")).toEqual({ kind: "not_claimed" });
    expect(approve(one, "first")).toEqual({ kind: "not_claimed" });
    expect(claim(one, "second")).toMatchObject({ kind: "claimed", claim: { token: "second" } });
    expect(approve(one, "second")).toMatchObject({ kind: "decided" });
  });

  it("lets another client claim a repeatable call before the sweep has seen it", () => {
    const { one } = waiting({ repeatable: true });
    claim(one, "first");
    one.at += CLAIM_MS - 1;
    expect(claim(one, "second")).toMatchObject({ kind: "claimed", claim: { token: "second" } });
    expect(approve(one, "first")).toEqual({ kind: "claimed_otherwise" });
  });
});

describe("a turn that ends while a client runs its call", () => {
  it.each([
    ["unsafe", false, "outcome unknown"],
    ["repeatable", true, "interrupted"],
  ])("gives an %s call a result that states whether it may have run", (_kind, repeatable, output) => {
    const { one } = waiting({ repeatable });
    claim(one, "first");
    one.interrupt();
    expect(actionOf(one)).toMatchObject({ status: "cancelled", claim: null });
    expect(resultsOf(one)).toEqual([["a", output, true]]);
    expect(approve(one, "first")).toEqual({ kind: "cancelled" });
  });

  it("keeps the claim through a crash of its process", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a", "unsafe"), call("b")], [ask("a")]);
    claim(one, "first");
    one.loseOwner();
    const again = one.claim()!;
    expect(again.openCalls.map(({ id }) => id)).toEqual(["b"]);
    expect(approve(one, "first", { output: 5 })).toMatchObject({ kind: "decided", unblocked: 0 });
    expect(resultsOf(one)).toEqual([["a", 5, false]]);
  });
});
