import fc from "fast-check";
import { expect, it } from "vitest";
import { message, snapshot } from "../test/snapshots.ts";
import { difference } from "./difference.ts";
import { fold } from "./fold.ts";
import type { Message, Snapshot, SystemEvent } from "./wire.ts";

/** Returns what a message may have become by the next snapshot. */
const later = (before: Message): fc.Arbitrary<Message> =>
  before.status === "complete"
    ? fc.constant(before)
    : fc.record({
        sender: fc.constant(before.sender),
        id: fc.constant(before.id),
        created_at: fc.constant(before.created_at),
        content: fc.oneof(
          fc.string().map((more) => before.content + more),
          fc.string(),
        ),
        status: fc.constantFrom("streaming", "complete", "interrupted", "failed"),
      });

const created = (id: string): fc.Arbitrary<Message> =>
  fc
    .record({
      sender: fc.constantFrom("user", "agent"),
      content: fc.string(),
      status: fc.constantFrom("queued", "streaming", "complete"),
    })
    .map(({ sender, content, status }) => message(id, sender, content, { status }));

const ids = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `m${from + index}`);

const systemEvent = (id: string): SystemEvent => ({
  id,
  type: "notice",
  created_at: "2026-11-20T17:00:00.000Z",
  payload: { code: "x" },
});

const CALL = {
  id: "a1",
  kind: "client_tool",
  tool: "read_page",
  call_id: "c1",
  created_at: "2026-11-20T17:00:00.000Z",
  expires_at: "2026-11-20T17:10:00.000Z",
  request: { tool: "read_page", input: {} },
} as const;

const state = fc.record({
  title: fc.string(),
  status: fc.constantFrom("idle", "processing", "interrupted"),
  model: fc.string(),
  app: fc.string(),
  user_state: fc.option(fc.dictionary(fc.string(), fc.integer())),
  pending_actions: fc
    .option(fc.constantFrom("2026-11-20T17:00:30.000Z", "2026-11-20T17:00:40.000Z"))
    .map((claim_expires_at) => [{ ...CALL, claim_expires_at }]),
});

const shown = (parts: Omit<Partial<Snapshot>, "status"> & { status: Snapshot["status"] }): Snapshot =>
  snapshot({ ...parts, is_processing: parts.status === "processing" });

const pair = fc
  .tuple(fc.nat(4), fc.nat(3), fc.nat(3), fc.nat(3), state, state)
  .chain(([old, added, oldEvents, addedEvents, one, other]) =>
    fc
      .tuple(...ids(0, old).map(created))
      .chain((before) =>
        fc.tuple(
          fc.constant(before),
          fc.tuple(...before.map(later)),
          fc.tuple(...ids(old, added).map(created)),
        ),
      )
      .map(([before, changed, more]) => {
        const events = ids(0, oldEvents + addedEvents).map(systemEvent);
        return [
          shown({ ...one, messages: before, system_events: events.slice(0, oldEvents) }),
          shown({ ...other, messages: [...changed, ...more], system_events: events }),
        ] as const;
      }),
  );

it("folds one snapshot into the other", () => {
  fc.assert(
    fc.property(pair, ([before, after]) => {
      const updates = difference(before, after);
      const folded = updates.reduce((now, update) => fold(now, update, null)!.snapshot, before);
      expect(folded).toEqual(after);
    }),
  );
});

it("reports the claim of a call that was requested in between", () => {
  const claim_expires_at = "2026-11-20T17:00:30.000Z";
  const item: SystemEvent = {
    id: "e1",
    type: "action_requested",
    created_at: CALL.created_at,
    payload: { ...CALL, claim_expires_at: null },
  };
  const after = snapshot({ system_events: [item], pending_actions: [{ ...CALL, claim_expires_at }] });
  const folded = difference(snapshot({}), after).reduce(
    (now, update) => fold(now, update, null)!.snapshot,
    snapshot({}),
  );
  expect(folded).toEqual(after);
});

it("is empty between equal snapshots, whatever the order of their keys", () => {
  const before = snapshot({ messages: [message("m1", "user", "Hi")], user_state: { a: 1, b: 2 } });
  const { sender, ...rest } = message("m1", "user", "Hi");
  const after = snapshot({ messages: [{ ...rest, sender }], user_state: { b: 2, a: 1 } });
  expect(difference(before, after)).toEqual([]);
});

it("reports grown text as a delta", () => {
  const streaming = { status: "streaming" } as const;
  const before = snapshot({ messages: [message("m1", "agent", "1 2", streaming)] });
  const after = snapshot({ messages: [message("m1", "agent", "1 2 3", streaming)] });
  expect(difference(before, after)).toMatchObject([
    { type: "message_delta", message_id: "m1", offset: 3, text: " 3" },
  ]);
});

it("creates and completes an answer that started and ended in between, and puts the state change last", () => {
  const after = snapshot({
    messages: [message("m1", "user", "Hi"), message("m2", "agent", "Hello")],
    model: "x/y",
  });
  expect(difference(snapshot({}), after).map(({ type }) => type)).toEqual([
    "message_created",
    "message_created",
    "message_completed",
    "state_changed",
  ]);
});

it("reports removed messages as a resync notice", () => {
  const before = snapshot({ messages: [message("m1", "user", "Hi")] });
  for (const messages of [[], [message("m2", "user", "Hi")]]) {
    expect(difference(before, snapshot({ messages }))).toMatchObject([
      { type: "system_notice", code: "resync" },
    ]);
  }
});
