// A conversation that is too long to render completely.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
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
} from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";

const ID = "3d0c9a52-6f1b-4e0e-9d55-7c1f0a64b8e1";
const TURNS = 60;
const isLeftOut = await isWithoutChromium();

let service: ConsoleService;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  service = await serveConsole();
  for (let turn = 0; turn < TURNS; turn += 1) {
    const answered = service.direct.sendMessage(ID, `Question ${turn}.`, { wait: true });
    (await service.model.next()).say(`Answer ${turn}.`).finish();
    await answered;
  }
});
afterAll(async () => {
  if (!isLeftOut) await service.stop();
});

describe.skipIf(isLeftOut)("a long conversation", () => {
  const openPage = useChromium();

  async function open(): Promise<Page> {
    const { page } = await openPage(service.url);
    await openConsole(page, ID);
    await expectAnswer(page, `Answer ${TURNS - 1}.`);
    // The page scrolls to the end after its first frame.
    await expect.poll(() => page.getByRole("log").evaluate((box) => box.scrollTop)).toBeGreaterThan(300);
    return page;
  }
  const articles = (page: Page) => page.getByRole("article");
  const earlier = (page: Page) => page.getByRole("button", { name: /^Show earlier messages/ });
  /** Clicks near the top, but not so near that scrolling also shows earlier messages. */
  const press = async (page: Page): Promise<void> => {
    await page.getByRole("log").evaluate((box) => box.scrollTo({ top: 300 }));
    await earlier(page).dispatchEvent("click");
  };
  const topOf = async (page: Page, text: string): Promise<number> =>
    (await said(page).getByText(text, { exact: true }).boundingBox())!.y;
  const shown = async (page: Page, count: number): Promise<void> => {
    await expect.poll(() => articles(page).count()).toBe(count);
  };

  it("starts with the newest messages, and keeps the reading position when earlier ones are inserted", async () => {
    const page = await open();
    await shown(page, 50);
    await page.getByRole("log").evaluate((box) => box.scrollTo({ top: 300 }));
    const before = await topOf(page, "Question 35.");
    await press(page);
    await shown(page, 100);
    await page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
    expect(Math.abs((await topOf(page, "Question 35.")) - before)).toBeLessThan(2);
    await earlier(page).focus();
    await page.keyboard.press("Enter");
    await shown(page, 120);
    await expectGone(earlier(page));
    // The focus moves on to the messages.
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
      .toBe("Messages");
    await page.keyboard.press("Home");
    await expectSeen(said(page).getByText("Question 0.", { exact: true }));
  });

  it("runs the same code for a key press however many messages are shown", async () => {
    const page = await open();
    await shown(page, 50);
    const few = await callsPerKey(page);
    await press(page);
    await shown(page, 100);
    await press(page);
    await shown(page, 120);
    expect(await callsPerKey(page)).toBeLessThan(1.2 * few);
    // The browser does not paint what is far away.
    const visibility = (at: number): Promise<string> =>
      articles(page)
        .nth(at)
        .evaluate((article) => getComputedStyle(article).contentVisibility);
    expect([await visibility(0), await visibility(119)]).toEqual(["auto", "visible"]);
  });

  it("removes the earlier messages when the reader returns to the newest", async () => {
    const page = await open();
    await press(page);
    await shown(page, 100);
    await press(page);
    await shown(page, 120);
    await page.getByRole("button", { name: "Go to the newest message" }).click();
    await shown(page, 50);
    await expectSeen(said(page).getByText(`Question ${TURNS - 1}.`, { exact: true }));
    await composer(page).waitFor();
    await say(page, "One more.");
    (await service.model.next()).say("Here it is.").finish();
    await expectAnswer(page, "Here it is.");
    await shown(page, 52);
  });

  it("follows an answer, but keeps the place and the selection of a reader who scrolls up, also at its end", async () => {
    const { page } = await openPage(service.url);
    await openConsole(page);
    const log = page.getByRole("log");
    const lines = (from: number): string =>
      Array.from({ length: 40 }, (_, at) => `Line ${from + at}.\n\n`).join("");
    await say(page, "Go on");
    const call = await service.model.next();
    call.say(lines(0));
    // GitNexus#765
    await expectInView(page, "Line 39.");
    call.say(lines(40));
    await expectInView(page, "Line 79.");
    await log.hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole("button", { name: "Go to the newest message" }).waitFor();
    // hermes-agent#115464: a selection survives what arrives, and the end.
    const selected = answers(page).last().getByText("Line 45.", { exact: true });
    await selected.evaluate((line) => getSelection()?.selectAllChildren(line));
    const place = (): Promise<number> => log.evaluate((box) => box.scrollTop);
    const before = await place();
    call.say(lines(80));
    await answers(page).last().getByText("Line 119.", { exact: true }).waitFor({ state: "attached" });
    expect(await place()).toBe(before);
    // hermes-webui#3525
    call.finish();
    await expectRest(page);
    await answers(page).last().getByRole("button", { name: "Copy message" }).waitFor({ state: "attached" });
    expect(await place()).toBe(before);
    expect(await page.evaluate(() => getSelection()?.toString().trim())).toBe("Line 45.");
  });

  /** Returns the number of function calls in the page for a key press in the composer. */
  async function callsPerKey(page: Page): Promise<number> {
    const keys = 10;
    await composer(page).press("a");
    const debug = await page.context().newCDPSession(page);
    await debug.send("Profiler.enable");
    await debug.send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await composer(page).pressSequentially("b".repeat(keys));
    const { result } = await debug.send("Profiler.takePreciseCoverage");
    await debug.detach();
    const counts = result.flatMap(({ url, functions }) =>
      url === "" ? [] : functions.map(({ ranges }) => ranges[0]?.count ?? 0),
    );
    return counts.reduce((sum, count) => sum + count, 0) / keys;
  }

  async function expectInView(page: Page, text: string): Promise<void> {
    const line = answers(page).last().getByText(text, { exact: true });
    await line.waitFor({ state: "attached" });
    await expect
      .poll(() =>
        line.evaluate((element) => {
          const view = element.closest("[role=log]")?.getBoundingClientRect();
          return view !== undefined && element.getBoundingClientRect().bottom <= view.bottom;
        }),
      )
      .toBe(true);
  }
});
