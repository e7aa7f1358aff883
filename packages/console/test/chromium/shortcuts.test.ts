// Every shortcut of the dialog does what the dialog says.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { findViolations } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { SHORTCUTS, type ShortcutName } from "../../../ui/src/page/shortcuts.ts";
import { composer, expectAnswer, expectGone, expectRest, expectSeen, say } from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

describe.skipIf(await isWithoutChromium())("a shortcut", () => {
  const shared = useSharedConsole();
  const pressed = new Set<ShortcutName>();

  async function open(size = DESK): Promise<Page> {
    const { page } = await shared.newChat();
    await page.setViewportSize(size);
    // Wait for the resize event: a key that is pressed before it applies to the previous layout.
    await expectSeen(
      page.getByRole("button", { name: size === PHONE ? "Menu" : /the sidebar$/, exact: true }),
    );
    return page;
  }

  /** Presses the first keys of the shortcut. */
  async function press(page: Page, name: ShortcutName, at = 0): Promise<void> {
    pressed.add(name);
    const { mod = false, shift = false, key } = SHORTCUTS[name].keys[at]!;
    await page.keyboard.press([mod && "Control", shift && "Shift", key].filter(Boolean).join("+"));
  }

  const search = (page: Page) => page.getByRole("searchbox", { name: "Search conversations" });
  const isFocused = (page: Page, name: string) => () =>
    page.evaluate((name) => {
      const element = document.activeElement;
      return [element?.getAttribute("aria-label"), element?.textContent].includes(name);
    }, name);

  it("starts a new chat, searches, and goes back to the message", async () => {
    const page = await open();
    await say(page, "Hello");
    (await shared.service.model.next()).say("Yes.").finish();
    await expectAnswer(page, "Yes.");
    await press(page, "search");
    await expect.poll(isFocused(page, "Search conversations")).toBe(true);
    await press(page, "message");
    await expect.poll(isFocused(page, "Message")).toBe(true);
    await press(page, "new_chat");
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
  });

  it("hides and shows the sidebar, which a search shows too", async () => {
    const page = await open();
    await press(page, "sidebar");
    await expectGone(search(page));
    await press(page, "sidebar");
    await expectSeen(search(page));
    await press(page, "sidebar");
    await expectGone(search(page));
    await press(page, "search");
    await expect.poll(isFocused(page, "Search conversations")).toBe(true);
  });

  it("opens the menu of a narrow window for a search", async () => {
    const page = await open(PHONE);
    await press(page, "search");
    await expect.poll(isFocused(page, "Search conversations")).toBe(true);
    await page.keyboard.press("Escape");
    await expectGone(search(page));
  });

  it("stops the answer", async () => {
    const page = await open();
    await say(page, "Hello");
    (await shared.service.model.next()).say("One, ");
    await expectAnswer(page, "One,");
    await press(page, "stop");
    await expectRest(page);
    await expectSeen(page.getByText("Stopped", { exact: true }));
  });

  it("goes to the request that waits, and a held Enter does not approve it", async () => {
    const page = await open();
    await say(page, "Three times four");
    (await shared.service.model.next()).callTool("calculator", { expression: "3 * 4" }).finish("tool-calls");
    const approve = page.getByRole("button", { name: "Approve" });
    // The button is enabled once the end of the input is in view.
    await expect.poll(() => approve.isEnabled()).toBe(true);
    await press(page, "decide");
    await expect.poll(isFocused(page, "Approve")).toBe(true);
    // The keyboard repeats a key that is held.
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    (await shared.service.model.next()).say("Twelve.").finish();
    await expectAnswer(page, "Twelve.");

    await say(page, "Three times five");
    (await shared.service.model.next()).callTool("calculator", { expression: "3 * 5" }).finish("tool-calls");
    await expect.poll(() => approve.isEnabled()).toBe(true);
    await page.keyboard.down("Control");
    await page.keyboard.down("Shift");
    await page.keyboard.down("Enter");
    await expect.poll(isFocused(page, "Approve")).toBe(true);
    await page.keyboard.up("Shift");
    await page.keyboard.up("Control");
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await expectSeen(approve);
    await page.keyboard.press("Enter");
    (await shared.service.model.next()).say("Fifteen.").finish();
    await expectAnswer(page, "Fifteen.");
  });

  it("lists all shortcuts, which do nothing meanwhile; a question mark in a field is text", async () => {
    const page = await open();
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await composer(page).fill("");
    await page.keyboard.press("?");
    expect(await composer(page).inputValue()).toBe("?");
    await press(page, "shortcuts", 1);
    await expectSeen(dialog);
    expect(await findViolations(page)).toEqual([]);
    const terms = await dialog.getByRole("term").allInnerTexts();
    expect(terms).toEqual(expect.arrayContaining(Object.values(SHORTCUTS).map(({ label }) => label)));
    await press(page, "sidebar");
    await page.keyboard.press("Escape");
    await expectGone(dialog);
    await expectSeen(search(page));
    await composer(page).fill("");
    await composer(page).blur();
    await press(page, "shortcuts");
    await expectSeen(dialog);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await expectSeen(dialog);
    await page.keyboard.press("Escape");
  });

  it("is in this file for each entry of the list", () => {
    expect([...pressed].toSorted()).toEqual(Object.keys(SHORTCUTS).toSorted());
  });
});
