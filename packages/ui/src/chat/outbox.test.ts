import { ColloquyError } from "@colloquy/client";
import { beforeEach, describe, expect, it } from "vitest";
import { loadDraft, saveDraft } from "./drafts.ts";
import { type Failure, withFailure, withoutOlder } from "./failure.ts";
import { Outbox } from "./outbox.ts";
import type { Message } from "./outbox-messages.ts";

const HOUR = 60 * 60 * 1000;
const REFUSED = new ColloquyError("Too many requests.", { code: "rate_limited", status: 429 });
const NOT_SENT = "Your message was not sent. Too many requests.";
const MAYBE = "Check the conversation before you send it again.";

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

/** Creates a message with this text for conversation `a`. */
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
    replaces: null,
    busy: null,
  };
}

/**
 * Waits until a failed message is fully handled: timers of equal length fire in order, so a few rounds
 * suffice.
 */
async function settled(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((done) => setTimeout(done, 0));
}

/** Creates an outbox with messages in flight. */
function sending(texts: readonly string[], sessionId: string | null = "a") {
  const outbox = newOutbox();
  const sent = texts.map((text) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    outbox.track(message(text, sessionId), promise);
    return { arrive: resolve, fail: () => reject(REFUSED) };
  });
  return {
    outbox,
    arrive: async () => (sent[0]!.arrive(), await settled()),
    fail: async (at = 0) => (sent[at]!.fail(), await settled()),
  };
}

/** Opens a conversation: records the reported failures and the text of its composer. */
function openedConversation(outbox: Outbox, sessionId: string | null = "a", written = "") {
  const here = { heard: [] as string[], written };
  outbox.openConversation(sessionId, {
    failed({ sentence }, giveBack) {
      here.heard.push(sentence);
      if (giveBack !== null) here.written = giveBack(here.written);
    },
    sent: () => undefined,
  });
  return here;
}

describe("a message in flight", () => {
  it("is removed once the service has stored it", async () => {
    const { outbox, arrive } = sending(["Hello"]);
    expect(outbox.getSnapshot().outgoing).toMatchObject([{ number: 1, sessionId: "a", text: "Hello" }]);
    await arrive();
    expect(outbox.getSnapshot()).toEqual({ outgoing: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("returns to the open composer, not to the draft, if it fails", async () => {
    const { outbox, fail } = sending(["Hello"]);
    const [here, elsewhere] = [openedConversation(outbox), openedConversation(outbox, "b")];
    await fail();
    expect(here).toEqual({ heard: [NOT_SENT], written: "Hello" });
    expect(elsewhere.heard).toEqual([]);
    expect(outbox.getSnapshot()).toEqual({ outgoing: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("becomes a draft, in front of newer text, if it fails after its conversation was closed", async () => {
    const { outbox, fail } = sending(["A long message"]);
    const failed = () => expect.unreachable("has left");
    outbox.openConversation("a", { failed, sent: () => undefined })();
    saveDraft(tab, "a", "and more");
    await fail();
    expect(loadDraft(tab, "a")).toBe("A long message\n\nand more");
    const { missed } = outbox.getSnapshot();
    expect(missed.map(({ sessionId, failure }) => [sessionId, failure.sentence])).toEqual([["a", NOT_SENT]]);
  });

  it("reports a missed failure once, when its conversation is opened", async () => {
    const { outbox, fail } = sending(["Hello"], null);
    await fail();
    expect(openedConversation(outbox, null)).toEqual({ heard: [NOT_SENT], written: "" });
    expect(openedConversation(outbox, null).heard).toEqual([]);
    expect(outbox.getSnapshot().missed).toEqual([]);
  });

  it.each([[0, 1, 2] as const, [2, 1, 0] as const, [1, 2, 0] as const])(
    "keeps the sending order in whatever order the messages fail: %i, %i, %i",
    async (...order) => {
      const { outbox, fail } = sending(["One", "Two", "Three"]);
      const here = openedConversation(outbox, "a", "Four");
      for (const at of order) await fail(at);
      expect(here.written).toBe("One\n\nTwo\n\nThree\n\nFour");
    },
  );

  it("keeps its place in the draft, before text typed after others were sent again", async () => {
    const { outbox, fail } = sending(["One", "Two"]);
    await fail(0);
    await fail(1);
    expect(loadDraft(tab, "a")).toBe("One\n\nTwo");
    outbox.track(message("One\n\nTwo"), Promise.reject(REFUSED));
    saveDraft(tab, "a", "One\n\nmore");
    await settled();
    expect(loadDraft(tab, "a")).toBe("One\n\nTwo\n\nOne\n\nmore");
  });
});

it("returns the messages to a session that are in flight or stored", async () => {
  const { outbox, arrive, fail } = sending(["One", "Two", "Three"]);
  outbox.track(message("Elsewhere", "b"), Promise.resolve());
  const texts = () => outbox.sentTo("a").map(({ text }) => text);
  expect(texts()).toEqual(["One", "Two", "Three"]);
  await arrive();
  await fail(1);
  expect(texts()).toEqual(["One", "Three"]);
  outbox.found("a", [{ text: "Two" }]);
  expect(texts()).toEqual(["One", "Two", "Three"]);
  expect(outbox.sentTo("b")).toHaveLength(1);
});

it("reports all missed failures when their conversation is opened", () => {
  const outbox = newOutbox();
  for (const sentence of ["The wallet has done it (0xabc).", "That did not work."])
    outbox.report("a", { sentence, needsKey: false });
  outbox.report("b", { sentence: "Elsewhere.", needsKey: false });
  expect(openedConversation(outbox).heard).toEqual(["The wallet has done it (0xabc).", "That did not work."]);
  expect(outbox.getSnapshot().missed).toMatchObject([{ sessionId: "b" }]);
});

it("withdraws the failure of a message once a message written later is sent", async () => {
  const { outbox, fail, arrive } = sending(["One", "Two"]);
  let failures: readonly Failure[] = [];
  outbox.openConversation("a", {
    failed: (failure) => (failures = withFailure(failures, failure)),
    sent: (number) => (failures = withoutOlder(failures, number)),
  });
  outbox.report("a", { sentence: "The wallet has done it (0xabc).", needsKey: false });
  await fail(1);
  await arrive();
  expect(failures).toMatchObject([{ needsKey: false }, { sentence: NOT_SENT }]);
  outbox.track(message("Two"), Promise.resolve());
  await settled();
  expect(failures).toMatchObject([{ sentence: "The wallet has done it (0xabc)." }]);
});

describe("after a reload", () => {
  it("sends messages in flight again, unchanged and in order, and removes them once stored", async () => {
    const { outbox: before } = sending(["First", "Second"]);
    before.track(message("New", null), new Promise(() => {}));
    time += 22 * HOUR;
    const outbox = newOutbox();
    const texts = (): string[] => outbox.getSnapshot().outgoing.map(({ text }) => text);
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
    expect(outbox.getSnapshot()).toEqual({ outgoing: [], missed: [] });
    expect(kept.size).toBe(0);
  });

  it("keeps messages that were sent again over another reload", () => {
    sending(["Hello"]);
    newOutbox().sendAgain(() => new Promise(() => {}));
    expect(newOutbox().getSnapshot().outgoing).toMatchObject([{ ...message("Hello"), isAgain: true }]);
  });

  it.each([23, 48, -1])("turns a message from %i hours ago into a draft, and reports it", async (hours) => {
    sending(["Hello"]);
    time += hours * HOUR;
    const outbox = newOutbox();
    const here = openedConversation(outbox, "a", "and more");
    outbox.sendAgain(() => expect.unreachable("too old"));
    await settled();
    expect(here).toEqual({
      heard: [`Your message may have been sent. It was sent too long ago to be retried. ${MAYBE}`],
      written: "Hello\n\nand more",
    });
    expect(kept.size).toBe(0);
  });

  it("turns a refused message into a draft, and does not report it as unsent", async () => {
    sending(["Hello"]);
    const outbox = newOutbox();
    outbox.sendAgain(() => Promise.reject(REFUSED));
    await settled();
    expect(loadDraft(tab, "a")).toBe("Hello");
    expect(outbox.getSnapshot().missed).toMatchObject([
      { failure: { sentence: `Your message may have been sent. Too many requests. ${MAYBE}` } },
    ]);
  });

  it("turns a message without a key from an older console into a draft", async () => {
    kept.set("colloquy.leaving", '[{"number":4,"sessionId":"a","text":"Old"}]');
    const outbox = newOutbox();
    outbox.sendAgain(() => expect.unreachable("has no key"));
    await settled();
    expect(loadDraft(tab, "a")).toBe("Old");
    expect(outbox.getSnapshot().missed).toHaveLength(1);
  });
});

it.each(["null", "{", "[1]", '[{"sessionId":5,"text":"x"}]'])("ignores unreadable data: %s", (text) => {
  kept.set("colloquy.leaving", text);
  expect(newOutbox().getSnapshot()).toEqual({ outgoing: [], missed: [] });
});

it("sends messages in a tab without storage", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const outbox = new Outbox({ getItem: refuse, setItem: refuse, removeItem: refuse });
  expect(() => outbox.track(message("x"), new Promise(() => {}))).not.toThrow();
});
