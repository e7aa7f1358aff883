// Failures: people are informed, and stay where they are.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { createSystemClock } from "../../../engine/src/wiring/clock.ts";
import {
  answers,
  composer,
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  openConsole,
  said,
  say,
  sessionOf,
  threads,
  openAdvanced,
  openOperate,
} from "./console-page.ts";
import { serveConsole } from "./console-service.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const BROKEN = /^console: Failed to load resource: .*404/;
const isLeftOut = await isWithoutChromium();

/** Holds back messages to the service until released. */
async function holdSending(page: Page): Promise<{ readonly held: Promise<void>; letGo(): void }> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/api/chat*", async (route) => {
    held.resolve();
    await released.promise;
    await route.continue();
  });
  return { held: held.promise, letGo: released.resolve };
}

describe.skipIf(isLeftOut)("the console when something goes wrong", () => {
  const kept = useSharedConsole();
  const { newChat, openPage } = kept;

  it("keeps the conversation and reports it if a newer build has removed the developer panel's files", async () => {
    const { page, expectTrouble } = await openPage(kept.service.url);
    expectTrouble(BROKEN);
    expectTrouble(/^console: PartNotLoaded: /);
    await page.route(/assets\/(?:developer-panel|operator-area)/, (route) => route.fulfill({ status: 404 }));
    await openConsole(page);
    await say(page, "Hello");
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(page, /^Hi\./);
    await page.getByRole("button", { name: "Developer panel" }).click();
    const side = page.getByRole("complementary", { name: "Developer" });
    await expectSeen(side.getByRole("heading", { name: "This part could not be loaded." }));
    await expectSeen(side.getByRole("button", { name: "Reload the page" }));
    await expectAnswer(page, /^Hi\./);
    expect(await composer(page).isEditable()).toBe(true);
    await openOperate(page);
    await expectSeen(page.getByRole("main").getByRole("heading", { name: "This part could not be loaded." }));
    await page.unroute(/assets\/(?:developer-panel|operator-area)/);
    await page.getByRole("button", { name: "Reload the page" }).click();
    await expectSeen(page.getByRole("textbox", { name: /key/i }).or(page.getByLabel(/key/i)).first());
  });

  it("stays on the page that the user opened while the first message was slow, and lists the new conversation", async () => {
    const { page } = await newChat();
    await say(page, "Green tea");
    (await kept.service.model.next()).say("Good.").finish();
    await expectAnswer(page, /^Good\./);
    await expectRest(page);
    const first = await sessionOf(page);
    await page.getByRole("link", { name: "New chat" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    const sending = await holdSending(page);
    await say(page, "Black coffee");
    await sending.held;
    await threads(page).getByRole("link", { name: "Green tea" }).click();
    await expectAnswer(page, /^Good\./);
    sending.letGo();
    (await kept.service.model.next()).say("Strong.").finish();
    await expectSeen(threads(page).getByRole("link", { name: "Black coffee" }));
    expect(await sessionOf(page)).toBe(first);
    await threads(page).getByRole("link", { name: "Black coffee" }).click();
    await expectAnswer(page, /^Strong\./);
  });

  it("shows a first message as being sent, and that the service does not answer, rather than as thinking", async () => {
    const { page } = await newChat();
    const sending = await holdSending(page);
    await say(page, "Hello");
    const state = said(page).getByRole("status", { name: "Sending" });
    await expectSeen(state.getByText("Sending… The service has not answered yet."));
    expect(await answers(page).count()).toBe(0);
    await page.context().setOffline(true);
    await expectSeen(state.getByText("Sending… This device is offline."));
    await page.context().setOffline(false);
    sending.letGo();
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(page, /^Hi\./);
    await expectGone(state);
  });

  it("shows that a queued message was stopped unanswered", async () => {
    const { page } = await newChat();
    await say(page, "Count");
    (await kept.service.model.next()).say("one ");
    await expectAnswer(page, /^one/);
    await say(page, "And then?");
    const second = said(page).filter({ hasText: "And then?" });
    await expectSeen(second.getByText("Waiting for its turn"));
    await page.getByRole("button", { name: "Stop" }).click();
    await expectRest(page);
    await expectSeen(second.getByText("Stopped before it was answered"));
    await expectGone(said(page).filter({ hasText: "Count" }).getByText("Stopped before it was answered"));
  });

  it("answers a message again whose answer failed, also with the keyboard", async () => {
    const { page } = await newChat();
    await say(page, "Hello");
    (await kept.service.model.next()).fail(new Error("broken"));
    await expectRest(page);
    const again = answers(page).last().getByRole("button", { name: "Try again" });
    await expectSeen(again);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await again.focus();
    await page.keyboard.press("Enter");
    (await kept.service.model.next()).say("Hi there.").finish();
    await expectAnswer(page, /^Hi there\./);
    await expectRest(page);
    expect(await said(page).count()).toBe(1);
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  });

  it("shows a denied call as denied, not as failed", async () => {
    const { page } = await newChat();
    await say(page, "Please");
    (await kept.service.model.next()).callTool("calculator", { expression: "1 + 1" }).finish("tool-calls");
    await page.getByRole("button", { name: "Deny" }).click();
    (await kept.service.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
    await expectSeen(answers(page).getByText("denied", { exact: true }));
    await expectGone(answers(page).getByText(/failed/));
  });

  it("shows an unanswered call as not made", async () => {
    const clock = createSystemClock();
    let passed = 0;
    const late = await serveConsole({ clock: { ...clock, now: () => clock.now() + passed } });
    const { page } = await openPage(late.url);
    await openConsole(page);
    await say(page, "Please");
    (await late.model.next()).callTool("calculator", { expression: "1 + 1" }).finish("tool-calls");
    await expectSeen(page.getByRole("button", { name: "Deny" }));
    passed = 24 * 3_600_000;
    (await late.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
    await expectSeen(answers(page).getByText("denied: not answered in time", { exact: true }));
    await page.goto("about:blank");
    await late.stop();
  });

  it("accepts no messages for a conversation that another tab has deleted", async () => {
    const { page } = await newChat();
    await say(page, "Hello");
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(page, /^Hi\./);
    await expectRest(page);
    await kept.service.direct.deleteThread(await sessionOf(page));
    await expectSeen(page.getByText("This conversation was deleted."));
    await expectGone(composer(page));
    await page.getByRole("main").getByRole("button", { name: "New chat" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    expect(await composer(page).isEditable()).toBe(true);
  });

  it("keeps a dialog with its input open while the first message arrives", async () => {
    const { page } = await openPage(kept.service.url);
    await openConsole(page);
    const sending = await holdSending(page);
    await say(page, "Hello");
    await sending.held;
    await page.getByRole("button", { name: "Settings" }).click();
    await openAdvanced(page);
    await page.getByLabel("App key").fill("half of a key");
    sending.letGo();
    (await kept.service.model.next()).say("Hi.").finish();
    await sessionOf(page);
    await expectAnswer(page, /^Hi\./);
    expect(await page.getByLabel("App key").inputValue()).toBe("half of a key");
  });

  it("keeps a too long message in the composer, also on Enter", async () => {
    const { page } = await newChat();
    await say(page, "x".repeat(32_769));
    await expectSeen(page.getByText("1 characters too many"));
    expect((await composer(page).inputValue()).length).toBe(32_769);
    expect(await said(page).count()).toBe(0);
    await say(page, "Hello");
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(page, /^Hi\./);
  });

  it("reports that the models did not load, and retries", async () => {
    const { page, expectTrouble } = await openPage(kept.service.url);
    expectTrouble(/404/);
    let asked = 0;
    await page.route("**/api/control/models*", async (route) => {
      asked += 1;
      await (asked === 1
        ? route.fulfill({ status: 404, body: '{"code":"app_not_found","detail":"No."}' })
        : route.continue());
    });
    await openConsole(page);
    await page.getByRole("button", { name: "Models did not load. Try again" }).click();
    await expectSeen(page.getByRole("combobox", { name: "Model" }));
    expect(asked).toBe(2);
  });

  it("sets the direction of each paragraph by its own text", async () => {
    const { page } = await newChat();
    await say(page, "Mixed");
    (await kept.service.model.next()).say("In English.\n\nשלום לכולם.\n\n- مرحبا").finish();
    await expectAnswer(page, /مرحبا/);
    const edges = await answers(page)
      .getByText(/^(?:In English|שלום|مرحبا)/)
      .evaluateAll((blocks) =>
        blocks.map((block) => {
          const words = document.createRange();
          words.selectNodeContents(block);
          const [of, all] = [words.getBoundingClientRect(), block.getBoundingClientRect()];
          return of.left - all.left < all.right - of.right ? "left" : "right";
        }),
      );
    expect(edges).toEqual(["left", "right", "right"]);
  });
});
