// The choice between "Send now" and "After this answer", and what is shown of a message that steers.

import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
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
import { useConsoleService } from "./use-console-service.ts";

const isLeftOut = await isWithoutChromium();
const service = useConsoleService();

describe.skipIf(isLeftOut)("a message while the assistant works", () => {
  const openPage = useChromium();

  it.each([
    ["desk", { width: 1280, height: 800 }],
    ["phone", { width: 390, height: 844 }],
  ])("is sent now or after the answer, on a %s", async (_name, viewport) => {
    const { page } = await openPage(service.url, { viewport });
    await openConsole(page);
    await say(page, "Compare three teas.");
    const call = await service.model.next();
    call.say("I look them up. ");
    await expectAnswer(page, /^I look them up/);

    const choice = page.getByRole("button", { name: "When to send" });
    // There is nothing to send.
    await expectGone(choice);
    await composer(page).fill("Only green ones.");
    await choice.click();
    await expectSeen(page.getByRole("menuitem", { name: "After this answer" }));
    const menu = await page.getByRole("menu").boundingBox();
    expect(menu!.y).toBeGreaterThanOrEqual(0);
    expect(menu!.y + menu!.height).toBeLessThanOrEqual(viewport.height);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await page.getByRole("menuitem", { name: "Send now" }).click();
    await expectSeen(said(page).nth(1).getByText("The assistant reads this next"));
    await composer(page).fill("Thanks, and a book?");
    await choice.click();
    await page.getByRole("menuitem", { name: "After this answer" }).click();
    await expectSeen(said(page).nth(2).getByText("Waiting for its turn"));

    call.callTool("lookup", {}, "c1").finish("tool-calls");
    const second = await service.model.next();
    expect(second.prompt.at(-1)).toContain("Only green ones.");
    second.say("Sencha, bancha, gyokuro.");
    await expectSeen(answers(page).getByText(/^Sencha, bancha/));
    await expectGone(page.getByText("The assistant reads this next"));
    await expectSeen(said(page).nth(2).getByText("Waiting for its turn"));
    second.finish();
    (await service.model.next()).say("The Book of Tea.").finish();
    await expectRest(page);
    expect(await answers(page).allInnerTexts()).toEqual([
      expect.stringContaining("I look them up"),
      expect.stringContaining("Sencha, bancha"),
      expect.stringContaining("The Book of Tea"),
    ]);
  });

  it("is kept if it is typed while the first message is sent", async () => {
    const { page } = await openPage(service.url, {});
    await openConsole(page);
    const held = Promise.withResolvers<void>();
    await page.route("**/api/chat", async (route) => {
      await held.promise;
      await route.continue();
    });
    await say(page, "Compare three teas.");
    await composer(page).pressSequentially("Only green ones.");
    held.resolve();
    const call = await service.model.next();
    await page.waitForURL(/#\/chat\/./);
    await expect.poll(() => composer(page).inputValue()).toBe("Only green ones.");
    call.finish();
    await expectRest(page);
    await page.getByRole("link", { name: "New chat" }).first().click();
    await expect.poll(() => composer(page).inputValue()).toBe("");
  });

  it("is shown as waiting if the answer ended before it was read", async () => {
    const { page } = await openPage(service.url, {});
    await openConsole(page);
    await say(page, "Compare three teas.");
    const call = await service.model.next();
    call.say("Green, black, white.");
    await composer(page).fill("Only green ones.");
    await page.getByRole("button", { name: "When to send" }).click();
    await page.getByRole("menuitem", { name: "Send now" }).click();
    await expectSeen(said(page).nth(1).getByText("The assistant reads this next"));
    call.finish();
    (await service.model.next()).say("Sencha.").finish();
    await expectAnswer(page, /^Sencha/);
    await expectRest(page);
  });
});
