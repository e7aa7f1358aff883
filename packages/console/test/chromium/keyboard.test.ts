// The whole journey without a mouse: everything is reached with Tab, activated with Enter, and shows its
// focus.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { settle } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import {
  composer,
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  openConsole,
  sessionOf,
  threads,
} from "./console-page.ts";
import { useConsoleService } from "./use-console-service.ts";

/** Far more than the number of focusable elements in these tests. */
const MAX_STOPS = 60;
const isLeftOut = await isWithoutChromium();

const service = useConsoleService();

/** Returns the accessible name of the focused element; "" for the page itself. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return "";
    const label =
      element.getAttribute("aria-label") ?? (element as HTMLInputElement).labels?.[0]?.textContent;
    return (label ?? element.textContent ?? "").trim();
  });
}

/** Returns true from the second time on for the same element. Runs in the page. */
function isFocusedAgain(): boolean {
  const was = document.activeElement?.hasAttribute("data-was-focused") === true;
  document.activeElement?.setAttribute("data-was-focused", "");
  return was;
}

/** Moves the focus to this name with the Tab key alone, forwards or back. */
async function tabTo(page: Page, name: string | RegExp, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  const passed: string[] = [];
  for (let stop = 0; stop < MAX_STOPS; stop += 1) {
    await page.keyboard.press(key);
    const now = await focused(page);
    if (typeof name === "string" ? now === name : name.test(now)) return;
    passed.push(now);
  }
  throw new Error(`The Tab key does not reach ${String(name)}, only: ${passed.join(" | ")}`);
}

describe.skipIf(isLeftOut)("the console by keyboard alone", () => {
  const openPage = useChromium();

  async function open(): Promise<Page> {
    const { page } = await openPage(service.url, {
      viewport: { width: 1280, height: 800 },
      reducedMotion: "reduce",
    });
    await openConsole(page);
    await expect.poll(() => focused(page)).toBe("Message");
    return page;
  }

  it("works from the first message to the deletion of the last conversation", async () => {
    const page = await open();
    // The composer has the focus.
    await expect.poll(() => focused(page)).toBe("Message");
    await page.keyboard.type("Hello");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("there");
    // The Enter that ends a composition: in Chromium during it, in Safari after it.
    for (const isComposing of [true, false]) {
      const enter = { key: "Enter", keyCode: 229, isComposing, bubbles: true, cancelable: true };
      await composer(page).dispatchEvent("keydown", enter);
    }
    expect(await composer(page).inputValue()).toBe("Hello\nthere");
    await page.keyboard.press("Enter");
    const call = await service.model.next();
    expect(call.prompt.at(-1)).toContain("Hello\\nthere");
    call.say("One, two");
    await expectAnswer(page, /One, two/);
    await tabTo(page, "Stop");
    await page.keyboard.press("Enter");
    await expectRest(page);
    const id = await sessionOf(page);

    // Deciding an action keeps the focus.
    await composer(page).focus();
    await page.keyboard.type("Three times four");
    await page.keyboard.press("Enter");
    (await service.model.next()).callTool("calculator", { expression: "3 * 4" }).finish("tool-calls");
    await expectSeen(page.getByRole("button", { name: "Approve" }));
    await tabTo(page, "Approve", "Shift+Tab");
    await page.keyboard.press("Enter");
    (await service.model.next()).say("Twelve.").finish();
    await expectAnswer(page, /Twelve\./);
    await expect.poll(() => focused(page)).toMatch(/^Calculator/);
    await page.keyboard.press("Enter");
    await expectSeen(page.getByText('"3 * 4"').first());

    // Renaming returns the focus to its menu.
    await expectSeen(threads(page).first());
    await tabTo(page, /^Menu of /, "Shift+Tab");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("Rename");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("New title");
    await page.keyboard.type("Sums");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("Menu of Sums");
    expect((await service.direct.getSession(id)).title).toBe("Sums");

    // A dialog takes the focus, Escape gives it back.
    await tabTo(page, /^Settings/);
    await page.keyboard.press("Enter");
    const settings = page.getByRole("dialog", { name: "Settings" });
    await expectSeen(settings);
    for (let stop = 0; stop < 12; stop += 1) {
      await page.keyboard.press("Tab");
      const isInside = await page.evaluate(
        () => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null,
      );
      expect(isInside).toBe(true);
    }
    await page.keyboard.press("Escape");
    await expectGone(settings);
    await expect.poll(() => focused(page)).toMatch(/^Settings/);

    await tabTo(page, "Search conversations", "Shift+Tab");
    await page.keyboard.type("sum");
    await expectSeen(page.getByText("1 conversation", { exact: true }));
    await tabTo(page, "Menu of Sums");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("Rename");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await expectSeen(page.getByRole("dialog", { name: "Delete this conversation?" }));
    await tabTo(page, "Delete");
    await page.keyboard.press("Enter");
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    await expect(service.direct.getSession(id)).rejects.toMatchObject({ status: 404 });

    await tabTo(page, "New chat", "Shift+Tab");
    await page.keyboard.press("Enter");
    await expectSeen(composer(page));
  });

  it("starts with a link to skip the side bar", async () => {
    const page = await open();
    await page.reload();
    await expectSeen(composer(page));
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await tabTo(page, "Skip to the content", "Shift+Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  });

  it("shows the focus on every focusable element", async () => {
    const page = await open();
    await page.keyboard.type("Three times four");
    await page.keyboard.press("Enter");
    (await service.model.next()).callTool("calculator", { expression: "3 * 4" }).finish("tool-calls");
    await expectSeen(page.getByRole("button", { name: "Approve" }));
    await expectSeen(threads(page).first());
    const unseen: string[] = [];
    const seen = new Set<string>();
    for (let stop = 0; stop < MAX_STOPS; stop += 1) {
      await page.keyboard.press("Tab");
      const name = await focused(page);
      if (name === "") continue;
      if (await page.evaluate(isFocusedAgain)) break;
      seen.add(name);
      await settle(page);
      const withFocus = await page.screenshot({ animations: "disabled" });
      await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        (globalThis as unknown as { before: HTMLElement }).before = element;
        element.blur();
      });
      await settle(page);
      if (withFocus.equals(await page.screenshot({ animations: "disabled" }))) unseen.push(name);
      await page.evaluate(() => (globalThis as unknown as { before: HTMLElement }).before.focus());
    }
    expect(unseen).toEqual([]);
    expect([...seen]).toEqual(
      expect.arrayContaining(["Message", "New chat", "Approve", "Deny", "Model", "Search conversations"]),
    );
  });
});
