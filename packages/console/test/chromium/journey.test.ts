// A person's first hour in the console, from the first load on.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import {
  answers,
  composer,
  openConsole,
  expectAnswer,
  expectRest,
  said,
  say,
  expectSeen,
  expectGone,
  expectIndexed,
  sessionOf,
  threads,
} from "./console-page.ts";
import { useConsoleService } from "./use-console-service.ts";

const BROKEN = /^console: Failed to load resource: net::ERR_/;
const isLeftOut = await isWithoutChromium();

const service = useConsoleService();

describe.skipIf(isLeftOut)("the console in Chromium", () => {
  const openPage = useChromium();

  async function open(sessionId: string | null = null): Promise<Page> {
    const { page } = await openPage(service.url);
    await openConsole(page, sessionId);
    return page;
  }

  it("transfers less than 300 KB, compressed, on the first load", async () => {
    const { page } = await openPage(service.url);
    const network = await page.context().newCDPSession(page);
    await network.send("Network.enable");
    const loaded: { bytes: number; encoding: string | undefined }[] = [];
    const encodings = new Map<string, string | undefined>();
    network.on("Network.responseReceived", ({ requestId, response }) => {
      const { headers } = response;
      encodings.set(requestId, headers["content-encoding"] ?? headers["Content-Encoding"]);
    });
    network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      loaded.push({ bytes: encodedDataLength, encoding: encodings.get(requestId) });
    });
    await openConsole(page);
    await page.waitForLoadState("networkidle");
    const bytes = loaded.reduce((sum, one) => sum + one.bytes, 0);
    expect(loaded.some(({ encoding }) => encoding === "br" || encoding === "gzip")).toBe(true);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(300_000);
  });

  it("shows an answer as it streams, stops it, and keeps the text", async () => {
    const page = await open();
    await say(page, "Tell me of tea");
    const call = await service.model.next();
    const id = await sessionOf(page);
    await expectSeen(said(page).filter({ hasText: "Tell me of tea" }));
    call.say("Tea is ");
    await expectAnswer(page, /^Tea is/);
    call.say("**a leaf**");
    await expectSeen(answers(page).getByText("a leaf").and(page.locator("strong")));
    await page.getByRole("button", { name: "Stop" }).click();
    await expectRest(page);
    await expectSeen(answers(page).getByText("Stopped"));
    const { messages, status } = await service.direct.getState(id);
    expect(status).toBe("interrupted");
    expect(messages.map(({ content }) => content)).toEqual(["Tell me of tea", "Tea is **a leaf**"]);
    await say(page, "And of coffee");
    (await service.model.next()).say("A bean.").finish();
    await expectAnswer(page, /^A bean\./);
    await expectRest(page);
    expect(await answers(page).count()).toBe(2);
    expect(await composer(page).inputValue()).toBe("");
  });

  it("shows a tool call with progress, input and result", async () => {
    const page = await open();
    await say(page, "Walk home");
    (await service.model.next()).say("I go now.").callTool("walk", { to: "Home" }).finish("tool-calls");
    await expectSeen(answers(page).getByText(/steps.*7/));
    const summary = answers(page).getByText("walk", { exact: true });
    await summary.click();
    await expectSeen(answers(page).getByText('"to": "Home"').or(answers(page).getByText('"Home"')).first());
    service.arrive();
    (await service.model.next()).say("We are there.").finish();
    await expectAnswer(page, /We are there\./);
    await expectSeen(answers(page).getByText(/^done/));
    await expectSeen(answers(page).getByText(/At Home/));
    const inOrder = /I go now\.\s+walk\s[\s\S]*done[\s\S]*We are there\./;
    await expectAnswer(page, inOrder);
    await page.reload();
    await expectAnswer(page, inOrder);
  });

  it("lists, searches, renames and deletes conversations, and starts new ones", async () => {
    const page = await open();
    for (const [text, answer] of [
      ["Green tea", "Good."],
      ["Black coffee", "Strong."],
    ] as const) {
      if (text !== "Green tea") await page.getByRole("link", { name: "New chat" }).click();
      await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
      await say(page, text);
      (await service.model.next()).say(answer).finish();
      await expectAnswer(page, answer);
      // The title comes from the first message.
      await expectSeen(threads(page).getByRole("link", { name: text }));
      await expectIndexed(service.direct, await sessionOf(page), text);
    }
    const id = await sessionOf(page);
    expect(await threads(page).getByRole("link").allInnerTexts()).toEqual(["Black coffee", "Green tea"]);
    const search = page.getByRole("searchbox", { name: "Search conversations" });
    await search.fill("green");
    await expectGone(threads(page).getByRole("link", { name: "Black coffee" }));
    // The other link is a message with the word.
    await expectSeen(page.getByRole("region", { name: "Messages" }).getByRole("link", { name: "Green tea" }));
    expect(await threads(page).getByRole("link").allInnerTexts()).toEqual([
      "Green tea",
      "Green tea\nGreen tea",
    ]);
    await search.fill("");
    await page.getByRole("button", { name: "Menu of Black coffee" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("textbox", { name: "New title" }).fill("Espresso");
    await page.keyboard.press("Enter");
    await expectSeen(page.getByRole("heading", { level: 1, name: "Espresso" }));
    expect((await service.direct.getSession(id)).title).toBe("Espresso");
    await page.getByRole("button", { name: "Menu of Espresso" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this conversation?" });
    await dialog.getByRole("button", { name: "Keep it" }).click();
    await expectGone(dialog);
    await page.getByRole("button", { name: "Menu of Espresso" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    await expect(service.direct.getSession(id)).rejects.toMatchObject({ status: 404 });
    expect(await threads(page).getByRole("link").allInnerTexts()).toEqual(["Green tea"]);
    await threads(page).getByRole("link", { name: "Green tea" }).click();
    await expectAnswer(page, /^Good\./);
  });

  it("uses the selected model", async () => {
    const page = await open();
    await page.getByRole("combobox", { name: "Model" }).selectOption("demo/assistant");
    await say(page, "What is 12 * 7?");
    await page.getByRole("button", { name: "Approve" }).click();
    await expectAnswer(page, /12 \* 7 = 84/);
    const id = await sessionOf(page);
    await page.getByRole("combobox", { name: "Model" }).selectOption("test/scripted");
    await expect.poll(async () => (await service.direct.getState(id)).model).toBe("test/scripted");
    await say(page, "And now?");
    (await service.model.next()).say("Another one speaks.").finish();
    await expectAnswer(page, /Another one speaks\./);
  });

  it("continues after a reload in the middle of an answer", async () => {
    const page = await open();
    await say(page, "Count");
    const call = await service.model.next();
    call.say("one ");
    await expectAnswer(page, /^one/);
    const url = page.url();
    await page.reload();
    expect(page.url()).toBe(url);
    await expectAnswer(page, /^one/);
    await expectSeen(page.getByRole("button", { name: "Stop" }));
    call.say("two").finish();
    await expectAnswer(page, /^one two/);
    await expectRest(page);
  });

  it("shows the same in two tabs, whichever is used", async () => {
    const first = await open();
    await say(first, "Hello");
    const call = await service.model.next();
    call.say("Hi ");
    await expectAnswer(first, /^Hi/);
    const second = await first.context().newPage();
    await openConsole(second, await sessionOf(first));
    await expectAnswer(second, /^Hi/);
    call.say("there");
    await Promise.all([expectAnswer(first, /^Hi there/), expectAnswer(second, /^Hi there/)]);
    await second.getByRole("button", { name: "Stop" }).click();
    await Promise.all([expectRest(first), expectRest(second)]);
    await expectSeen(answers(first).getByText("Stopped"));
    await say(second, "Again");
    (await service.model.next()).say("Yes?").finish();
    await Promise.all([expectAnswer(first, /^Yes\?/), expectAnswer(second, /^Yes\?/)]);
    await expectSeen(said(first).filter({ hasText: "Again" }));
  });

  it("reconnects after the network was lost", async () => {
    const { page, expectTrouble } = await openPage(service.url);
    expectTrouble(BROKEN);
    await openConsole(page);
    await say(page, "Hello");
    const call = await service.model.next();
    call.say("one ");
    await expectAnswer(page, /^one/);
    await page.context().setOffline(true);
    service.proxy.plan = () => "refuse";
    service.proxy.cut();
    await expectSeen(page.getByRole("status", { name: "Connection" }).getByText(/./));
    call.say("two ");
    service.proxy.plan = () => null;
    await page.context().setOffline(false);
    await expectAnswer(page, /^one two/);
    await expectGone(page.getByRole("status", { name: "Connection" }).getByText(/./));
    call.say("three").finish();
    await expectAnswer(page, /^one two three/);
    await expectRest(page);
  });
});
