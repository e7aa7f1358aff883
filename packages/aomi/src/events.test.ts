import type { Message } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { eventsAfter, liveMessage, pageAfter, walletActionIn } from "./events.ts";
import { sequenceOf } from "./positions.ts";
import { viewOf } from "./testing/view-of.ts";
import type { View } from "./view.ts";
import type { WalletAction } from "./wallet-actions.ts";

const AT = "2026-11-20T12:00:00.000Z";
const LATER = "2026-11-20T12:00:01.000Z";

const user = (turn: number, more: Partial<Message> = {}): Message => ({
  sender: "user",
  content: `question ${turn}`,
  id: `u${turn}`,
  created_at: AT,
  status: "complete",
  turn,
  ...more,
});
const agent = (turn: number, more: Partial<Message> = {}): Message => ({
  sender: "agent",
  content: "",
  id: `a${turn}`,
  created_at: AT,
  status: "streaming",
  turn,
  ...more,
});
const call = (id: string, status: "running" | "complete" | "interrupted", text_offset = 0) => ({
  id,
  name: "look",
  arguments: {},
  status,
  text_offset,
});
const result = (call_id: string) => ({
  call_id,
  name: "look",
  output: `${call_id} done`,
  is_error: false,
  duration_ms: 1,
});

const shown = (view: View) =>
  [...eventsAfter(view, 0)].map((event) => {
    if (event.type === "message") return `${event.sender}: ${event.content}`;
    if (event.type === "turn_state_changed") return event.state;
    if (event.type === "action") return `action ${event.revision}`;
    return event.type;
  });

const ASKED: WalletAction = {
  id: "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11",
  kind: "wallet_transaction",
  tool: "look",
  call_id: "c1",
  created_at: LATER,
  expires_at: "2026-11-20T13:00:00.000Z",
  status: "pending",
  result: null,
  resolved_at: null,
  request: { to: "0x2", value: "1", data: "0x", chain_id: 1 },
};
const SENT: WalletAction = {
  ...ASKED,
  status: "approved",
  result: { transaction_hash: `0x${"ab".repeat(32)}` },
  resolved_at: LATER,
};

/** States of one conversation, each after the one before. */
const STAGES: Readonly<Record<string, readonly View[]>> = {
  "with calls whose results arrive in another order": [
    viewOf([user(1, { status: "queued" })]),
    viewOf([user(1)]),
    viewOf([user(1), agent(1, { content: "Let" })]),
    viewOf([user(1), agent(1, { content: "Let me see." })]),
    viewOf([
      user(1),
      agent(1, {
        content: "Let me see.",
        tool_calls: [call("c1", "running", 11), call("c2", "running", 11)],
      }),
    ]),
    viewOf([
      user(1),
      agent(1, {
        content: "Let me see.",
        tool_calls: [call("c1", "running", 11), call("c2", "complete", 11)],
        tool_results: [result("c2")],
      }),
    ]),
    viewOf([
      user(1),
      agent(1, {
        content: "Let me see.\n\nThe",
        tool_calls: [call("c1", "complete", 11), call("c2", "complete", 11)],
        tool_results: [result("c2"), result("c1")],
      }),
    ]),
    viewOf([
      user(1),
      agent(1, {
        content: "Let me see.\n\nThe end.",
        status: "complete",
        tool_calls: [call("c1", "complete", 11), call("c2", "complete", 11)],
        tool_results: [result("c2"), result("c1")],
      }),
      user(2, { status: "queued" }),
    ]),
  ],
  "with queued messages, of which an interrupt leaves one unanswered": [
    viewOf([user(1), agent(1, { content: "One" }), user(2, { status: "queued" })]),
    viewOf([
      user(1),
      agent(1, { content: "One.", status: "complete" }),
      user(2, { status: "queued" }),
      user(3, { status: "queued" }),
    ]),
    viewOf([
      user(1),
      agent(1, { content: "One.", status: "complete" }),
      user(2),
      user(3, { status: "queued" }),
      agent(2, { content: "Tw" }),
    ]),
    viewOf([
      user(1),
      agent(1, { content: "One.", status: "complete" }),
      user(2),
      user(3, { status: "interrupted" }),
      agent(2, { content: "Tw", status: "interrupted" }),
    ]),
  ],
  "that is steered": [
    viewOf([
      user(1),
      agent(1, { content: "One" }),
      user(2, { status: "queued", steering: { status: "pending" } }),
    ]),
    viewOf([
      user(1),
      agent(1, { content: "One.", status: "complete", steps: { from: 1, to: 1 } }),
      user(2, { status: "queued", steering: { status: "pending" } }),
    ]),
    viewOf([
      user(1),
      agent(1, { content: "One.", status: "complete", steps: { from: 1, to: 1 } }),
      user(2, { turn: 1, steering: { status: "read", step: 2 } }),
      agent(1, { id: "b1", steps: { from: 2 } }),
    ]),
    viewOf([
      user(1),
      agent(1, { content: "One.", status: "complete", steps: { from: 1, to: 1 } }),
      user(2, { turn: 1, steering: { status: "read", step: 2 } }),
      agent(1, { id: "b1", content: "Two.", status: "complete", steps: { from: 2 } }),
    ]),
  ],
  "with a turn that has no answer": [
    viewOf([user(1)], { is_processing: false }),
    viewOf([user(1), user(2)]),
    viewOf([user(1), user(2), agent(2, { content: "Tw" })]),
    viewOf([user(1), user(2), agent(2, { content: "Two.", status: "complete" })], { is_processing: false }),
  ],
  "that fails, with the reason after the message": [
    viewOf([user(1), agent(1, { content: "On" })]),
    viewOf([user(1), agent(1, { content: "On", status: "failed" })]),
    viewOf([user(1), agent(1, { content: "On", status: "failed" })], {
      system_events: [{ id: "1", type: "error", created_at: AT, payload: { turn: 1, message: "No." } }],
      is_processing: false,
    }),
  ],
  "with a wallet request": [
    viewOf([user(1), agent(1, { tool_calls: [call("c1", "running")] })]),
    viewOf([user(1), agent(1, { tool_calls: [call("c1", "running")] })], {}, [ASKED]),
    viewOf([user(1), agent(1, { tool_calls: [call("c1", "running")] })], {}, [SENT]),
    viewOf(
      [
        user(1),
        agent(1, {
          content: "Sent.",
          status: "complete",
          tool_calls: [call("c1", "complete")],
          tool_results: [result("c1")],
        }),
      ],
      { is_processing: false },
      [SENT],
    ),
  ],
};

describe.each(Object.entries(STAGES))("a conversation %s", (_what, stages) => {
  it("only appends events", () => {
    let known: readonly unknown[] = [];
    for (const view of stages) {
      const events = [...eventsAfter(view, 0)];
      expect(events.slice(0, known.length)).toEqual(known);
      const sequences = events.map(({ sequence }) => sequence);
      expect(sequences).toEqual([...new Set(sequences)].toSorted((left, right) => left - right));
      known = events;
    }
  });

  it("returns the same events in pieces", () => {
    for (const view of stages) {
      const events = [...eventsAfter(view, 0)];
      for (const [index, { sequence }] of events.entries())
        expect(pageAfter(view, sequence).events).toEqual(events.slice(index + 1));
    }
  });
});

describe("the events of a conversation", () => {
  const last = (name: string) => STAGES[name]!.at(-1)!;

  it("have texts, results in the order of the calls, and the end of each turn", () => {
    expect(shown(last("with calls whose results arrive in another order"))).toEqual([
      "user: question 1",
      "processing",
      "agent: Let me see.",
      "tool_complete",
      "tool_complete",
      "agent: The end.",
      "title_changed",
      "complete",
      "user: question 2",
      "processing",
    ]);
    expect(shown(last("with queued messages, of which an interrupt leaves one unanswered"))).toEqual([
      "user: question 1",
      "processing",
      "agent: One.",
      "title_changed",
      "complete",
      "user: question 2",
      "processing",
      "agent: Tw",
      "title_changed",
      "interrupted",
      "user: question 3",
      "processing",
      "title_changed",
      "interrupted",
    ]);
    expect(shown(last("that is steered"))).toEqual([
      "user: question 1",
      "processing",
      "agent: One.",
      "user: question 2",
      "agent: Two.",
      "title_changed",
      "complete",
    ]);
    expect(shown(last("with a turn that has no answer"))).toEqual([
      "user: question 1",
      "processing",
      "title_changed",
      "complete",
      "user: question 2",
      "processing",
      "agent: Two.",
      "title_changed",
      "complete",
    ]);
    expect(shown(last("with a wallet request"))).toEqual([
      "user: question 1",
      "processing",
      "action 1",
      "awaiting_action",
      "action 2",
      "processing",
      "tool_complete",
      "agent: Sent.",
      "title_changed",
      "complete",
    ]);
  });

  it("keep their ids when an old action is no longer stored", () => {
    const view = last("with a wallet request");
    const without = viewOf(view.snapshot.messages, { is_processing: false });
    const events = [...eventsAfter(view, 0)].filter(
      ({ type, sequence }) => type !== "action" && ![1, 3].includes(sequence - sequenceOf(1, 1, 0)),
    );
    expect([...eventsAfter(without, 0)]).toEqual(events);
  });

  it("have the connected wallet only while the action is pending", () => {
    const wallets = (action: WalletAction, address: string) => {
      const messages = [user(1), agent(1, { tool_calls: [call("c1", "running")] })];
      const view = viewOf(messages, { user_state: { evm: { address } } }, [action]);
      return [...eventsAfter(view, 0)].flatMap((event) =>
        event.type === "action" ? (event.request["transactions"] as { from: string }[]) : [],
      );
    };
    expect(wallets(ASKED, "0xa")).toMatchObject([{ from: "0xa" }]);
    expect(wallets(SENT, "0xa")).toMatchObject([{ from: "" }, { from: "" }]);
    expect(wallets(SENT, "0xb")).toEqual(wallets(SENT, "0xa"));
  });

  it("of a turn that steering messages of later turns join have all later turns after them", () => {
    const view = viewOf([
      user(1),
      agent(1, { content: "One.", status: "complete", steps: { from: 1, to: 1 } }),
      user(2, { status: "queued", steering: { status: "own_turn" } }),
      user(3, { id: "u3", turn: 1, steering: { status: "read", step: 2 } }),
      agent(1, { id: "b1", content: "Three.", status: "complete", steps: { from: 2 } }),
    ]);
    const events = [...eventsAfter(view, 0)];
    expect(events.at(-1)).toMatchObject({ turn_id: "turn-life-2", type: "turn_state_changed" });
    for (const [index, { sequence }] of events.entries())
      expect([...eventsAfter(view, sequence)]).toEqual(events.slice(index + 1));
  });

  it("are split into pages of 500", () => {
    const messages = Array.from({ length: 200 }, (_, index) => [
      user(index + 1),
      agent(index + 1, { content: "Yes.", status: "complete" }),
    ]).flat();
    const view = viewOf(messages, { is_processing: false });
    const first = pageAfter(view, 0);
    expect([first.events.length, first.has_more]).toEqual([500, true]);
    const second = pageAfter(view, first.events.at(-1)!.sequence);
    expect([second.events.length, second.has_more]).toEqual([500, false]);
    expect(second.cursor).toBe(second.events.at(-1)?.event_id);
  });
});

describe("a wallet action", () => {
  it("is found after an open call, with the sequence number of its final event", () => {
    const calls = [call("c0", "running"), call("c1", "running")];
    const open = viewOf([user(1), agent(1, { tool_calls: calls })], {}, [ASKED]);
    expect(shown(open)).not.toContain("action 1");
    const event = walletActionIn(open, ASKED.id)!.eventOf(SENT);
    expect(event).toMatchObject({ type: "action", revision: 2, state: "completed" });
    const done = calls.map((one) => ({ ...one, status: "complete" as const }));
    const over = agent(1, {
      tool_calls: done,
      tool_results: [result("c0"), result("c1")],
      status: "complete",
    });
    expect([...eventsAfter(viewOf([user(1), over], {}, [SENT]), 0)]).toContainEqual(event);
    expect(walletActionIn(open, "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a99")).toBeNull();
  });
});

describe("the text in progress", () => {
  it("is that after the last call, without the blank line before it", () => {
    const [, , , , , , view] = STAGES["with calls whose results arrive in another order"]!;
    expect(liveMessage(view!)).toEqual({
      type: "message",
      turn_id: "turn-life-1",
      revision: 3,
      message: { message_key: "a1-3", sender: "agent", content: "The", is_streaming: true },
    });
    expect(liveMessage(viewOf([user(1)]))).toBeNull();
  });
});
