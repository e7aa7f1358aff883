import fc from "fast-check";
import { expect, it } from "vitest";
import { difference } from "./difference.ts";
import { fold, type SessionUpdate, visible, withHidden } from "./fold.ts";
import { wantedMessages, withEarlier, withLoaded } from "./message-window.ts";
import type { Message, Snapshot } from "./wire.ts";
import { message, snapshot, SESSION } from "../test/snapshots.ts";

const isHidden = ({ sender, status, content }: Message): boolean =>
  sender === "agent" && status === "streaming" && content === "";
const isFinal = ({ status }: Message): boolean => status !== "queued" && status !== "streaming";

/** Returns the snapshot that the service would return (contract section 2). */
function read(whole: Snapshot, last: number, before: string | null = null): Snapshot {
  const { messages } = whole;
  const shown = messages.flatMap((one, index) => (isHidden(one) ? [] : [index]));
  const open = messages.findIndex((one) => !isFinal(one));
  const end = before === null ? messages.length : messages.findIndex(({ id }) => id === before);
  const newest = last >= shown.length ? 0 : (shown.at(-last) ?? messages.length);
  const start =
    before === null ? Math.min(newest, open < 0 ? messages.length : open) : Math.max(0, end - last);
  return visible({ ...whole, messages: messages.slice(start, end), messages_before: start });
}

const TEN = snapshot({
  messages: Array.from({ length: 10 }, (_, n) => message(`m${n}`, n % 2 === 0 ? "user" : "agent", "x")),
});

type Step = readonly [
  step: "ask" | "answer" | "say" | "finish" | "rate" | "remove" | "earlier" | "gap" | "read",
  at: number,
];

/** Changes the session like the service. Returns the event; `null` if nothing changes. */
function change(whole: Snapshot, [step, at]: Step, n: number): SessionUpdate | null {
  const { messages } = whole;
  const open = messages.findIndex(({ status }) => status === "streaming");
  const event = (parts: object): SessionUpdate => ({ session_id: SESSION, ...parts }) as SessionUpdate;
  const changed = (index: number, parts: Partial<Message>, type: string): SessionUpdate | null => {
    const one = messages[index];
    return one === undefined ? null : event({ type, message: { ...one, ...parts }, index });
  };
  if (step === "ask" || (step === "answer" && open < 0)) {
    const made =
      step === "ask"
        ? message(`new${n}`, "user", "Hi", { status: at % 2 === 0 ? "complete" : "queued" })
        : message(`new${n}`, "agent", "", { status: "streaming" });
    return event({ type: "message_created", message: made, index: messages.length });
  }
  if (step === "say" && open >= 0) {
    const { id, content } = messages[open]!;
    return event({ type: "message_delta", message_id: id, offset: content.length, text: `word ${n} ` });
  }
  if (step === "finish") {
    const index = messages.findIndex((one) => !isFinal(one));
    return changed(index, { status: "complete" }, "message_completed");
  }
  const index = messages.length === 0 ? -1 : at % messages.length;
  if (step === "rate" && messages[index] !== undefined && isFinal(messages[index]))
    return changed(index, { feedback: { score: 1, created_at: `${n}` } }, "message_updated");
  if (step === "remove" && at % 4 === 0 && index >= 0)
    return event({ type: "messages_removed", from: messages[index]?.id });
  return null;
}

const steps = fc.array(
  fc.tuple(
    fc.constantFrom(
      ...(["ask", "ask", "answer", "answer", "say", "say", "finish", "finish"] as const),
      ...(["rate", "remove", "earlier", "gap", "read"] as const),
    ),
    fc.nat(100),
  ),
  { maxLength: 80 },
);

it("always equals the end of the session after events, gaps and loads of earlier messages", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 4 }), (steps, last) => {
      let whole = TEN;
      let partial = read(whole, last);
      /** Number of steps whose events were lost. */
      let missing = 0;
      for (const [n, step] of steps.entries()) {
        if (step[0] === "gap") missing = Math.max(missing, step[1] % 5);
        const update = change(whole, step, n);
        const id = update?.type === "message_delta" ? null : `a-${n + 2}`;
        if (update !== null) whole = fold(whole, update, id)!.snapshot;
        missing -= 1;
        if (missing > 0) continue;
        const folded = missing === 0 || update === null ? null : fold(partial, update, id);
        if (folded !== null) partial = folded.snapshot;
        else if (missing === 0 || update !== null || step[0] === "read") {
          const after = withLoaded(partial, read(whole, wantedMessages(last, partial)!));
          const now = withHidden(partial, after);
          // Subscribers receive events that produce the same snapshot, or `resync`.
          const updates = difference(partial, now);
          if (updates.every(({ type }) => type !== "system_notice")) {
            const led = updates.reduce((now, update) => fold(now, update, null)!.snapshot, partial);
            expect(visible(led).messages).toEqual(after.messages);
          }
          partial = now;
          // A new stream first sends the streaming message.
          const index = whole.messages.findIndex(({ status }) => status === "streaming");
          const message = whole.messages[index];
          const sent = { session_id: SESSION, type: "message_updated", message, index } as SessionUpdate;
          if (message !== undefined) partial = fold(partial, sent, null)!.snapshot;
        }
        if (step[0] === "earlier" && (partial.messages_before ?? 0) > 0 && partial.messages.length > 0) {
          const page = read(whole, 1 + (step[1] % 3), partial.messages[0]!.id);
          partial = withEarlier(partial, page)!;
        }
        const first = partial.messages_before!;
        expect(visible(partial).messages).toEqual(
          visible({ ...whole, messages: whole.messages.slice(first) }).messages,
        );
      }
    }),
    { numRuns: 500 },
  );
});

it("keeps earlier messages if the new snapshot overlaps them, and drops them after a gap", () => {
  const loaded = read(TEN, 6);
  expect(withLoaded(loaded, read(TEN, 3))).toEqual(loaded);
  const later = { ...TEN, messages: [...TEN.messages, message("m10", "user", "x")] };
  expect(withLoaded(loaded, read(later, 3))).toEqual(read(later, 7));
  const other = read({ ...TEN, messages: TEN.messages.map((one) => ({ ...one, id: `n${one.id}` })) }, 3);
  expect(withLoaded(loaded, other)).toBe(other);
  expect(difference(loaded, other)).toMatchObject([{ type: "system_notice", code: "resync" }]);
});

it("reports `resync` if the first loaded message changes", () => {
  const none = snapshot({ messages_before: 8 });
  expect(difference(none, read(TEN, 3))).toMatchObject([{ type: "system_notice", code: "resync" }]);
});

it("drops earlier messages that may have changed", () => {
  const messages = TEN.messages.map((one) => (one.id === "m5" ? { ...one, status: "queued" as const } : one));
  const loaded = read({ ...TEN, messages }, 6);
  expect(withLoaded(loaded, read(TEN, 3))).toEqual(read(TEN, 3));
});

it("accepts a page only directly before the loaded messages", () => {
  const loaded = read(TEN, 3);
  expect(withEarlier(loaded, read(TEN, 2, "m7"))).toEqual(read(TEN, 5));
  expect(withEarlier(loaded, read(TEN, 2, "m6"))).toBeNull();
});
