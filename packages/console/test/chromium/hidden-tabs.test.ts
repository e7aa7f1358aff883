// Browsers open six HTTP/1.1 connections per host for all tabs, and each visible tab holds one.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { setVisibility, checkVisibilityOften } from "../../../../test/browser/visibility.ts";
import { expectAnswer, expectGone, expectSeen, openConsole, say, sessionOf } from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const ENDED = /^console: Failed to load resource: net::ERR_/;
const isLeftOut = await isWithoutChromium();

const kept = useSharedConsole();
const { openPage } = kept;

describe.skipIf(isLeftOut)("more tabs than connections", () => {
  it("are all shown: those without a stream poll, and get one when another tab is closed", async () => {
    const { page: first, context } = await openPage(kept.service.url);
    await context.clock.install();
    await openConsole(first);
    await say(first, "Hello");
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(first, /^Hi\./);
    const id = await sessionOf(first);
    const tabs = [first];
    for (let tab = 2; tab <= 8; tab += 1) {
      const page = await context.newPage();
      tabs.push(page);
      await openConsole(page, id);
      await expectAnswer(page, /^Hi\./);
    }
    const isAsking = (page: Page) =>
      page.getByRole("status", { name: "Connection" }).getByText(/^Other tabs use all live connections\./);
    for (const page of tabs.slice(4)) await expectSeen(isAsking(page));
    const last = tabs[7]!;
    await say(last, "And now?");
    (await kept.service.model.next()).say("Now too.").finish();
    for (const page of tabs) await expectAnswer(page, /^Now too\./);
    for (const page of tabs.slice(0, 4)) expect(await isAsking(page).count()).toBe(0);
    for (const page of tabs.slice(0, 7)) await page.close();
    await last.clock.fastForward(40_000);
    await expectGone(isAsking(last));
  });
});

describe.skipIf(isLeftOut)("hidden tabs", () => {
  it("free their slots for a visible tab after a minute, and catch up when visible again", async () => {
    const { page: first, context, expectTrouble } = await openPage(kept.service.url);
    expectTrouble(ENDED);
    await checkVisibilityOften(context);
    await openConsole(first);
    await say(first, "Hello");
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(first, /^Hi\./);
    const id = await sessionOf(first);
    const others = [first];
    for (let tab = 2; tab <= 6; tab += 1) {
      const page = await context.newPage();
      await openConsole(page, id);
      await expectAnswer(page, /^Hi\./);
      others.push(page);
    }
    const seventh = await context.newPage();
    await openConsole(seventh, id);
    await expectAnswer(seventh, /^Hi\./);
    const isAsking = seventh.getByRole("status", { name: "Connection" }).getByText(/^Other tabs/);
    await expectSeen(isAsking);
    for (const page of others) await setVisibility(page, "hidden");
    await expectGone(isAsking);
    await say(seventh, "And now?");
    (await kept.service.model.next()).say("Now too.").finish();
    await expectAnswer(seventh, /^Now too\./);
    await setVisibility(first, "visible");
    await expectAnswer(first, /^Now too\./);
  });

  it("pause the developer panel's stream and resume it when shown", async () => {
    const { page, expectTrouble } = await openPage(kept.service.url);
    expectTrouble(ENDED);
    await openConsole(page);
    await say(page, "Hello");
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(page, /^Hi\./);
    const [begun, ended]: [string[], string[]] = [[], []];
    page.on("request", (request) => {
      if (request.url().includes("/api/updates")) begun.push(request.headers()["last-event-id"] ?? "none");
    });
    page.on("requestfailed", (request) => {
      if (request.url().includes("/api/updates")) ended.push(request.headers()["last-event-id"] ?? "none");
    });
    await page.getByRole("button", { name: "Developer panel" }).click();
    await expectSeen(page.getByRole("region", { name: "Events" }).getByText("title_changed").first());
    expect(begun).toEqual(["0"]);
    await setVisibility(page, "hidden");
    await expect.poll(() => ended).toEqual(["0"]);
    await setVisibility(page, "visible");
    await expect.poll(() => begun.length).toBe(2);
    expect(begun[1]).not.toBe("0");
  });
});
