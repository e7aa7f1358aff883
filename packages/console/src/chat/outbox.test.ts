import { ColloquyError } from "@colloquy/client";
import { beforeEach, describe, expect, it } from "vitest";
import { loadDraft, saveDraft } from "./drafts.ts";
import { Outbox } from "./outbox.ts";
import type { Message } from "./outbox-messages.ts";

const HOUR = 60 * 60 * 1000;
const REFUSED = new ColloquyError("Too many requests.", { code: "rate_limited", status: 429 });
const NOT_SENT = "Your message was not sent. Too many requests.";
const MAYBE = "Look at the conversation before you send it again.";

let kept: Map<string, string>;
let time: number;
const tab = {
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, value: string) => void kept.set(name, value),
  removeItem: (name: string) => void kept.delete(name),
};
const newOutbox = (): Outbox => new Outbox(tab, () => time);
beforeEach(() => {
  kept = new Map();
  time = 100 * HOUR;
});

/** The message with this text for conversation `a`. */
function message(text: string, sessionId: string | null = "a"): Message {
  const to = sessionId ?? "new";
  return {
    sessionId,
    to,
    text,
    idempotencyKey: `key of ${text}`,
    app: "default",
    publicKey: null,
    model: null,
  };
}

/** Timers of the same length fire in order, so after a few rounds everything that follows a failed message has run. */
async function settled(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((done) => setTimeout(done, 0));
}

/** An outbox with messages that leave for a conversation. */
function sending(texts: readonly string[], sessionId: string | null = "a") {
  const outbox = newOutbox();
  const sent = texts.map((text) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    outbox.hand(message(text, sessionId), promise);
    return { arrive: resolve, fail: () => reject(REFUSED) };
  });
  return {
    outbox,
    arrive: async () => (sent[0]!.arrive(), await settled()),
    fail: async (at = 0) => (sent[at]!.fail(), await settled()),
  };
}

/** Somebody at the conversation, with what they hear and what stands in their composer. */
function attending(outbox: Outbox, sessionId: string | null = "a", written = "") {
  const here = { heard: [] as string[], written };
  outbox.attend(sessionId, ({ sentence }, giveBack) => {
    here.heard.push(sentence);
    if (giveBack !== null) here.written = giveBack(here.written);
  });
  return here;
}

describe("a message on its way", () => {
  it("is gone without a trace when it has arrived", async () => {
    const { outbox, arrive } = sending(["Hello"]);
    expect(outbox.getSnapshot().leaving).toMatchObject([{ number: 1, sessionId: "a", text: "Hello" }]);
    await arrive();
    expect(outbox.getSnapshot()).toEqual({ leaving: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("goes back to who is at its conversation, and into no draft", async () => {
    const { outbox, fail } = sending(["Hello"]);
    const [here, elsewhere] = [attending(outbox), attending(outbox, "b")];
    await fail();
    expect(here).toEqual({ heard: [NOT_SENT], written: "Hello" });
    expect(elsewhere.heard).toEqual([]);
    expect(outbox.getSnapshot()).toEqual({ leaving: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("stands in the draft of its conversation when nobody is there, before what was written since", async () => {
    const { outbox, fail } = sending(["A long message"]);
    outbox.attend("a", () => expect.unreachable("has left"))();
    saveDraft(tab, "a", "and more");
    await fail();
    expect(loadDraft(tab, "a")).toBe("A long message\n\nand more");
    const { missed } = outbox.getSnapshot();
    expect(missed.map(({ sessionId, failure }) => [sessionId, failure.sentence])).toEqual([["a", NOT_SENT]]);
  });

  it("that nobody heard of is told when its conversation is opened, once", async () => {
    const { outbox, fail } = sending(["Hello"], null);
    await fail();
    expect(attending(outbox, null)).toEqual({ heard: [NOT_SENT], written: "" });
    expect(attending(outbox, null).heard).toEqual([]);
    expect(outbox.getSnapshot().missed).toEqual([]);
  });

  it.each([[0, 1, 2] as const, [2, 1, 0] as const, [1, 2, 0] as const])(
    "goes back into its place among others, in whichever order they fail: %i, %i, %i",
    async (...order) => {
      const { outbox, fail } = sending(["One", "Two", "Three"]);
      const here = attending(outbox, "a", "Four");
      for (const at of order) await fail(at);
      expect(here.written).toBe("One\n\nTwo\n\nThree\n\nFour");
    },
  );

  it("goes into the draft in its place too, and before what was written after others were sent anew", async () => {
    const { outbox, fail } = sending(["One", "Two"]);
    await fail(0);
    await fail(1);
    expect(loadDraft(tab, "a")).toBe("One\n\nTwo");
    outbox.hand(message("One\n\nTwo"), Promise.reject(REFUSED));
    saveDraft(tab, "a", "One\n\nmore");
    await settled();
    expect(loadDraft(tab, "a")).toBe("One\n\nTwo\n\nOne\n\nmore");
  });
});

it("who comes to a conversation hears of all that went wrong there", () => {
  const outbox = newOutbox();
  for (const sentence of ["The wallet has done it (0xabc).", "That did not work."])
    outbox.tell("a", { sentence, needsKey: false });
  outbox.tell("b", { sentence: "Elsewhere.", needsKey: false });
  expect(attending(outbox).heard).toEqual(["The wallet has done it (0xabc).", "That did not work."]);
  expect(outbox.getSnapshot().missed).toMatchObject([{ sessionId: "b" }]);
});

describe("after the page was loaded again", () => {
  it("what was on its way is sent again as it was, in its order, and is gone once it has arrived", async () => {
    const { outbox: before } = sending(["First", "Second"]);
    before.hand(message("New", null), new Promise(() => {}));
    time += 22 * HOUR;
    const outbox = newOutbox();
    const texts = (): string[] => outbox.getSnapshot().leaving.map(({ text }) => text);
    expect(texts()).toEqual(["First", "Second", "New"]);
    const asked: Message[] = [];
    const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
    outbox.sendAgain((one) => gates[asked.push(one) - 1]!.promise);
    outbox.sendAgain(() => expect.unreachable("twice"));
    await settled();
    expect(asked).toMatchObject([message("First"), message("New", null)]);
    gates[0]!.resolve();
    await settled();
    expect([texts(), asked[2]]).toMatchObject([["Second", "New"], message("Second")]);
    for (const { resolve } of gates) resolve();
    await settled();
    expect(outbox.getSnapshot()).toEqual({ leaving: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("what is loaded again once more is still known", () => {
    sending(["Hello"]);
    newOutbox().sendAgain(() => new Promise(() => {}));
    expect(newOutbox().getSnapshot().leaving).toMatchObject([{ ...message("Hello"), isAgain: true }]);
  });

  it.each([23, 48, -1])("what left %i hours ago is not sent, but a draft, and told", async (hours) => {
    sending(["Hello"]);
    time += hours * HOUR;
    const outbox = newOutbox();
    const here = attending(outbox, "a", "and more");
    outbox.sendAgain(() => expect.unreachable("too old"));
    await settled();
    expect(here).toEqual({
      heard: [`Your message may have been sent. It left too long ago to be sent again. ${MAYBE}`],
      written: "Hello\n\nand more",
    });
    expect(kept.size).toBe(0);
  });

  it("what is refused then is a draft, and nobody says that it was not sent", async () => {
    sending(["Hello"]);
    const outbox = newOutbox();
    outbox.sendAgain(() => Promise.reject(REFUSED));
    await settled();
    expect(loadDraft(tab, "a")).toBe("Hello");
    expect(outbox.getSnapshot().missed).toMatchObject([
      { failure: { sentence: `Your message may have been sent. Too many requests. ${MAYBE}` } },
    ]);
  });

  it("what a console of before has kept, without a key, is a draft", async () => {
    kept.set("colloquy.leaving", '[{"number":4,"sessionId":"a","text":"Old"}]');
    const outbox = newOutbox();
    outbox.sendAgain(() => expect.unreachable("has no key"));
    await settled();
    expect(loadDraft(tab, "a")).toBe("Old");
    expect(outbox.getSnapshot().missed).toHaveLength(1);
  });
});

it.each(["null", "{", "[1]", '[{"sessionId":5,"text":"x"}]'])(
  "what cannot be read is nothing: %s",
  (text) => {
    kept.set("colloquy.leaving", text);
    expect(newOutbox().getSnapshot()).toEqual({ leaving: [], missed: [] });
  },
);

it("a tab that may keep nothing sends all the same", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const outbox = new Outbox({ getItem: refuse, setItem: refuse, removeItem: refuse });
  expect(() => outbox.hand(message("x"), new Promise(() => {}))).not.toThrow();
});
