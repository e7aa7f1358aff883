// Settings and drafts that survive a reload.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { composer, openConsole, sessionOf, say, expectAnswer, expectRest } from "./console-page.ts";
import { useConsoleService } from "./use-console-service.ts";

const isLeftOut = await isWithoutChromium();

const service = useConsoleService();

/** The page's background colour, as computed. */
const ground = (page: Page): Promise<string> =>
  page.evaluate(() => getComputedStyle(document.body).backgroundColor);

describe.skipIf(isLeftOut)("choices in the console", () => {
  const openPage = useChromium();

  it("keep a light or dark theme whatever the system's theme, until reset to the system's", async () => {
    const { page } = await openPage(service.url, { colorScheme: "light" });
    await openConsole(page);
    const light = await ground(page);
    const choose = async (name: string): Promise<void> => {
      await page.getByRole("button", { name: "Settings" }).click();
      await page.getByRole("radio", { name }).check();
      await page.getByRole("button", { name: "Cancel" }).click();
    };
    await choose("Dark");
    await expect.poll(() => ground(page)).not.toBe(light);
    const dark = await ground(page);
    await page.reload();
    await composer(page).waitFor();
    expect(await ground(page)).toBe(dark);
    await page.emulateMedia({ colorScheme: "dark" });
    await choose("Light");
    await expect.poll(() => ground(page)).toBe(light);
    await choose("System");
    await expect.poll(() => ground(page)).toBe(dark);
  });

  it("keep the unsent draft of each conversation", async () => {
    const { page } = await openPage(service.url);
    await openConsole(page);
    await say(page, "Hello");
    (await service.model.next()).say("Hi.").finish();
    await expectAnswer(page, /^Hi\./);
    await expectRest(page);
    await sessionOf(page);
    await composer(page).fill("Of this one");
    await page.reload();
    await expect.poll(() => composer(page).inputValue()).toBe("Of this one");
    await page.getByRole("link", { name: "New chat" }).click();
    await expect.poll(() => composer(page).inputValue()).toBe("");
    await composer(page).fill("Of the next one");
    await page.reload();
    await expect.poll(() => composer(page).inputValue()).toBe("Of the next one");
    await page.goBack();
    await expect.poll(() => composer(page).inputValue()).toBe("Of this one");
  });
});
