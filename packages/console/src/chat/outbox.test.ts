import { beforeEach, describe, expect, it } from "vitest";
import { loadDraft, saveDraft } from "./drafts.ts";
import { Outbox, withUnsent } from "./outbox.ts";

let kept: Map<string, string>;
const tab = {
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, value: string) => void kept.set(name, value),
  removeItem: (name: string) => void kept.delete(name),
};
beforeEach(() => {
  kept = new Map();
});

/** An outbox with a message that leaves for conversation `a`. */
function sending(text: string, sessionId: string | null = "a") {
  const outbox = new Outbox(tab);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  outbox.hand(sessionId, text, promise);
  const settle = async (how: () => void): Promise<void> => {
    how();
    await promise.catch(() => undefined);
    await new Promise((done) => setTimeout(done, 5));
  };
  return {
    outbox,
    arrive: () => settle(resolve),
    fail: () => settle(() => reject(new Error("Too many requests."))),
  };
}

describe("a message on its way", () => {
  it("is gone without a trace when it has arrived", async () => {
    const { outbox, arrive } = sending("Hello");
    expect(outbox.getSnapshot().leaving).toEqual([{ number: 1, sessionId: "a", text: "Hello" }]);
    await arrive();
    expect(outbox.getSnapshot()).toEqual({ leaving: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("goes back to who is at its conversation, and into no draft", async () => {
    const { outbox, fail } = sending("Hello");
    const heard: unknown[] = [];
    outbox.attend("a", ({ sentence }, text) => void heard.push([sentence, text]));
    outbox.attend("b", () => void heard.push("b"));
    await fail();
    expect(heard).toEqual([["Your message was not sent. Too many requests.", "Hello"]]);
    expect(outbox.getSnapshot()).toEqual({ leaving: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("stands in the draft of its conversation when nobody is there, before what was written since", async () => {
    const { outbox, fail } = sending("A long message");
    outbox.attend("a", () => expect.unreachable("has left"))();
    saveDraft(tab, "a", "and more");
    await fail();
    expect(loadDraft(tab, "a")).toBe("A long message\n\nand more");
    const { missed } = outbox.getSnapshot();
    expect(missed.map(({ sessionId, failure }) => [sessionId, failure.sentence])).toEqual([
      ["a", "Your message was not sent. Too many requests."],
    ]);
  });

  it("that nobody heard of is told when its conversation is opened, once", async () => {
    const { outbox, fail } = sending("Hello", null);
    await fail();
    const heard: unknown[] = [];
    outbox.attend(null, ({ sentence }, text) => void heard.push([sentence, text]));
    outbox.attend(null, () => void heard.push("again"));
    expect(heard).toEqual([["Your message was not sent. Too many requests.", null]]);
    expect(outbox.getSnapshot().missed).toEqual([]);
  });

  it("stands in its draft after the page was loaded again, and only once", () => {
    const { outbox } = sending("First");
    outbox.hand("a", "Second", new Promise(() => {}));
    outbox.hand(null, "New", new Promise(() => {}));
    saveDraft(tab, "a", "Third");
    const next = new Outbox(tab);
    expect([loadDraft(tab, "a"), loadDraft(tab, null)]).toEqual(["First\n\nSecond\n\nThird", "New"]);
    expect(next.getSnapshot().leaving).toEqual([]);
    saveDraft(tab, "a", "");
    new Outbox(tab);
    expect(loadDraft(tab, "a")).toBe("");
  });
});

it.each(["null", "{", "[1]", '[{"sessionId":5,"text":"x"}]'])(
  "what cannot be read is nothing: %s",
  (text) => {
    kept.set("colloquy.leaving", text);
    expect(new Outbox(tab).getSnapshot()).toEqual({ leaving: [], missed: [] });
  },
);

it("a tab that may keep nothing sends all the same", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const outbox = new Outbox({ getItem: refuse, setItem: refuse, removeItem: refuse });
  expect(() => outbox.hand("a", "x", new Promise(() => {}))).not.toThrow();
});

it.each([
  ["yes", "", "yes"],
  ["yes", "yes", "yes"],
  ["yes", "oh yes, and", "yes\n\noh yes, and"],
])("%j that was not sent and %j that is written are %j", (text, written, together) => {
  expect(withUnsent(text, written)).toBe(together);
});
