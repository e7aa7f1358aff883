// The console as a person finds it: by the names and roles of what is on the page, never by its markup.

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

/** Longer than anything takes on a machine that has much else to do. */
const PATIENCE = { timeout: 20_000 };

export const composer = (page: Page): Locator => page.getByRole("textbox", { name: "Message", exact: true });
export const answers = (page: Page): Locator => page.getByRole("article", { name: "Assistant" });
export const said = (page: Page): Locator => page.getByRole("article", { name: "You" });
export const threads = (page: Page): Locator =>
  page.getByRole("navigation", { name: "Main" }).getByRole("listitem");

/** Opens the console where it begins, or at a conversation. */
export async function openConsole(page: Page, sessionId: string | null = null): Promise<void> {
  await page.goto(sessionId === null ? "/" : `/#/chat/${sessionId}`);
  await composer(page).waitFor(PATIENCE);
}

/** Writes a message and sends it with Enter. */
export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** The id of the conversation that the page shows, once it shows one. */
export async function sessionOf(page: Page): Promise<string> {
  await page.waitForURL(/#\/chat\/./, PATIENCE);
  return decodeURIComponent(new URL(page.url()).hash.replace("#/chat/", ""));
}

/** Waits until it is there, once and visible. */
export async function expectSeen(locator: Locator): Promise<void> {
  await locator.waitFor(PATIENCE);
}

/** Waits until nothing of it is to be seen. */
export async function expectGone(locator: Locator): Promise<void> {
  await locator.waitFor({ ...PATIENCE, state: "hidden" });
}

/** Waits until the last answer says this and is whole, or still grows. */
export async function expectAnswer(page: Page, text: string | RegExp): Promise<void> {
  await expect.poll(() => answers(page).last().innerText(PATIENCE), PATIENCE).toMatch(text);
}

/** Waits until the assistant has nothing left to do. */
export async function expectRest(page: Page): Promise<void> {
  await expectGone(page.getByRole("button", { name: "Stop" }));
}
