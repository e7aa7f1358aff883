// Text that a person has written is never lost before the service has stored it.

import type { Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import {
  composer,
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  said,
  say,
  sessionOf,
  threads,
  openOperate,
} from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const isLeftOut = await isWithoutChromium();

const kept = useSharedConsole();

const MAYBE = "Your message may have been sent.";

/** Fails a request such that its outcome is unknown. */
const unavailable = (route: Route): Promise<void> =>
  route.fulfill({ status: 503, headers: { "retry-after": "60" }, body: "{}" });

/** Holds back messages sent from now on, until the test refuses them. */
async function holdSending(page: Page): Promise<{ readonly held: Promise<void>; refuse(): void }> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/api/chat*", async (route: Route) => {
    held.resolve();
    await released.promise;
    await route.fulfill({
      status: 429,
      contentType: "application/problem+json",
      body: JSON.stringify({ code: "rate_limited", status: 429, detail: "Too many requests." }),
    });
  });
  return { held: held.promise, refuse: released.resolve };
}

/** Drops the next message and lets later ones through. Resolves once it was sent. */
async function loseFirst(page: Page): Promise<{ readonly lost: Promise<void> }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isFirst = true;
  await page.route("**/api/chat*", async (route: Route) => {
    if (!isFirst) return await route.continue();
    isFirst = false;
    resolve();
  });
  return { lost: promise };
}

/** Waits until the composer has this text. */
async function expectWritten(page: Page, text: string): Promise<void> {
  await expect.poll(() => composer(page).inputValue()).toBe(text);
}

describe.skipIf(isLeftOut)("an unsent message", () => {
  it("is reported after the user has left the conversation, and becomes its draft", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "A long message that I wrote");
    await sending.held;
    await page.getByRole("link", { name: "New chat" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    sending.refuse();
    const told = page.getByRole("alert").filter({ hasText: "Your message was not sent. Too many requests." });
    await expectSeen(told);
    await expectWritten(page, "");
    await told.getByRole("button", { name: "Go there" }).click();
    await expectAnswer(page, /^One\./);
    await expectWritten(page, "A long message that I wrote");
    await expectSeen(told);
    await page.unroute("**/api/chat*");
    await composer(page).press("Enter");
    (await kept.service.model.next()).say("Two.").finish();
    await expectAnswer(page, /^Two\./);
    await expectWritten(page, "");
  });

  it("is sent again after a reload, and becomes a draft if that is refused", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "A long message that I wrote");
    await sending.held;
    await page.reload();
    await expectSeen(said(page).filter({ hasText: "A long message" }).getByText("Sending…"));
    await expectWritten(page, "");
    sending.refuse();
    await expectSeen(
      page.getByRole("alert").getByText("Your message may have been sent. Too many requests."),
    );
    await expectWritten(page, "A long message that I wrote");
    await expectGone(said(page).filter({ hasText: "A long message" }));
  });

  it("is shown as being sent when its conversation is opened again", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "Slowly");
    await sending.held;
    await page.getByRole("link", { name: "New chat" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    await page.goBack();
    await expectSeen(said(page).filter({ hasText: "Slowly" }).getByText("Sending…"));
    await expectWritten(page, "");
    sending.refuse();
    await expectSeen(page.getByRole("alert").getByText("Your message was not sent."));
    await expectWritten(page, "Slowly");
    await expectGone(said(page).filter({ hasText: "Slowly" }));
  });

  it("moves to the next new chat, before newer text, if it was a first message", async () => {
    const { page, expectTrouble } = await kept.loadAnew();
    expectTrouble(/429/);
    const sending = await holdSending(page);
    await say(page, "A");
    await sending.held;
    await openOperate(page);
    await expectSeen(page.getByLabel("Admin key"));
    await page.getByRole("link", { name: "New chat" }).click();
    await composer(page).fill("B");
    sending.refuse();
    await expectSeen(page.getByRole("alert").getByText("Your message was not sent. Too many requests."));
    await expectWritten(page, "A\n\nB");
    await page.reload();
    await expectWritten(page, "A\n\nB");
  });

  it("returns to the composer even if a newer text there contains it", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "tea");
    await sending.held;
    await composer(page).fill("I like steak");
    sending.refuse();
    await expectWritten(page, "tea\n\nI like steak");
  });

  it("is removed from the composer, with its error, once the conversation contains it", async () => {
    const page = await openTalk(/503/);
    await page.route("**/api/chat*", unavailable);
    await say(page, "First");
    const told = page.getByRole("alert").getByText(MAYBE);
    await expectSeen(told);
    await composer(page).fill("First\n\nand more");
    // The service has received the message.
    await kept.service.direct.sendMessage(await sessionOf(page), "First");
    (await kept.service.model.next()).say("Two.").finish();
    await expectAnswer(page, /^Two\./);
    await expectGone(told);
    await expectWritten(page, "and more");
  });

  it("keeps its error if the conversation contains only one of two messages with the same text", async () => {
    const page = await openTalk(/503/);
    const released = Promise.withResolvers<void>();
    await page.route("**/api/chat*", async (route) => {
      await released.promise;
      await unavailable(route);
    });
    await say(page, "Go on");
    await say(page, "Go on");
    released.resolve();
    await expectWritten(page, "Go on\n\nGo on");
    await kept.service.direct.sendMessage(await sessionOf(page), "Go on");
    (await kept.service.model.next()).say("Two.").finish();
    await expectAnswer(page, /^Two\./);
    await expectWritten(page, "Go on");
    await expectSeen(page.getByRole("alert").getByText(MAYBE));
  });

  it("keeps its error if the matching message is another one that was sent", async () => {
    const page = await openTalk(/503/);
    const released = Promise.withResolvers<void>();
    let isFirst = true;
    await page.route("**/api/chat*", async (route) => {
      if (!isFirst) return await unavailable(route);
      isFirst = false;
      await released.promise;
      await route.continue();
    });
    await say(page, "Go on");
    await say(page, "Go on");
    const told = page.getByRole("alert").getByText(MAYBE);
    await expectSeen(told);
    released.resolve();
    (await kept.service.model.next()).say("Two.").finish();
    await expectAnswer(page, /^Two\./);
    await expectGone(page.getByText("Sending…"));
    await expectSeen(told);
    await expectWritten(page, "Go on");
  });

  it("keeps its error if only an older message, loaded later, has the same text", async () => {
    const page = await openTalk(/503/);
    const released = Promise.withResolvers<void>();
    await page.route("**/api/state*", async (route) => {
      await released.promise;
      await route.continue();
    });
    await page.route("**/api/chat*", unavailable);
    await page.reload();
    await say(page, "First");
    await expectSeen(said(page).getByText("Sending…"));
    released.resolve();
    await expectAnswer(page, /^One\./);
    await expectWritten(page, "First");
    await expectSeen(page.getByRole("alert").getByText(MAYBE));
  });

  it("is reported beside earlier failures", async () => {
    const page = await openTalk();
    let refused = 0;
    await page.route("**/api/chat*", (route) =>
      route.fulfill({ status: 429, headers: { "retry-after": String((refused += 1)) }, body: "{}" }),
    );
    await say(page, "One");
    const told = page.getByRole("alert").getByText("Your message was not sent.");
    await expectSeen(told);
    await composer(page).fill("");
    await say(page, "Two");
    await expect.poll(() => told.count()).toBe(2);
    await page.getByRole("alert").first().getByRole("button", { name: "Dismiss" }).click();
    await expectSeen(told.and(page.getByText("Try again in 2 s.")));
    await expectWritten(page, "Two");
  });

  it("keeps the sending order when several are refused", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "One");
    await sending.held;
    await say(page, "Two");
    await expectWritten(page, "");
    sending.refuse();
    await expectWritten(page, "One\n\nTwo");
  });

  /** Opens a page at an existing conversation and allows refusals. */
  async function openTalk(trouble = /429/): Promise<Page> {
    const { page, expectTrouble } = await kept.loadAnew();
    expectTrouble(trouble);
    await say(page, "First");
    (await kept.service.model.next()).say("One.").finish();
    await expectAnswer(page, /^One\./);
    await expectRest(page);
    await sessionOf(page);
    return page;
  }
});

describe.skipIf(isLeftOut)("a message without an answer when the page is reloaded", () => {
  it("is stored once if the service had received it", async () => {
    const { page } = await kept.loadAnew();
    await begin(page);
    kept.service.proxy.plan = ({ path }) => (path === "/api/chat" ? "swallow" : null);
    await say(page, "Once");
    const answer = await kept.service.model.next();
    kept.service.proxy.plan = () => null;
    await page.reload();
    answer.say("Two.").finish();
    await expectAnswer(page, /^Two\./);
    await expectArrived(page, 4);
    await expectOnce(page);
    expect(new Set(keys().slice(1)).size).toBe(1);
  });

  it("is stored once in the conversation that it started, which the page then shows", async () => {
    const { page } = await kept.loadAnew();
    kept.service.proxy.plan = ({ path }) => (path === "/api/chat" ? "swallow" : null);
    await say(page, "Once");
    const answer = await kept.service.model.next();
    kept.service.proxy.plan = () => null;
    await page.reload();
    await sessionOf(page);
    answer.say("Two.").finish();
    await expectAnswer(page, /^Two\./);
    await expectArrived(page, 2);
    await expectOnce(page);
    await expectSeen(threads(page).getByRole("link", { name: "Once" }));
    expect(keys()).toHaveLength(2);
    expect(new Set(keys()).size).toBe(1);
  });

  it.each([true, false])(
    "is sent once if it never reached the service (first of its conversation: %s)",
    async (isFirst) => {
      const { page } = await kept.loadAnew();
      if (!isFirst) await begin(page);
      const { lost } = await loseFirst(page);
      await say(page, "Once");
      await lost;
      await page.reload();
      (await kept.service.model.next()).say("Two.").finish();
      await expectAnswer(page, /^Two\./);
      await expectArrived(page, isFirst ? 2 : 4);
      await expectOnce(page);
      await page.reload();
      await expectArrived(page, isFirst ? 2 : 4);
      await expectOnce(page);
    },
  );

  /** Sends a message and waits for its answer. */
  async function begin(page: Page): Promise<void> {
    await say(page, "First");
    (await kept.service.model.next()).say("One.").finish();
    await expectAnswer(page, /^One\./);
    await expectRest(page);
  }

  /** Waits until nothing is in flight and page and service have this many messages. */
  async function expectArrived(page: Page, messages: number): Promise<void> {
    const id = await sessionOf(page);
    await expect.poll(() => page.evaluate(() => sessionStorage.getItem("colloquy.leaving"))).toBe(null);
    await expect.poll(async () => (await kept.service.direct.getState(id)).messages.length).toBe(messages);
    await expectSeen(said(page).filter({ hasText: "Once" }));
  }

  async function expectOnce(page: Page): Promise<void> {
    expect(await said(page).filter({ hasText: "Once" }).count()).toBe(1);
    expect(await composer(page).inputValue()).toBe("");
    expect(await page.getByRole("alert").count()).toBe(0);
  }

  /** Returns the idempotency keys that the service has received. */
  function keys(): unknown[] {
    return kept.service.proxy.heads.map((head) => head["idempotency-key"]).filter((key) => key !== undefined);
  }
});
