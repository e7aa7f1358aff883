// Page helpers: find things by accessible names and roles, never by markup.

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Client } from "@colloquy/client";

export const composer = (page: Page): Locator => page.getByRole("textbox", { name: "Message", exact: true });
export const answers = (page: Page): Locator => page.getByRole("article", { name: "Assistant" });
export const said = (page: Page): Locator => page.getByRole("article", { name: "You" });
export const threads = (page: Page): Locator =>
  page.getByRole("navigation", { name: "Main" }).getByRole("listitem");

/** Opens the console at its start page, or at a conversation. */
export async function openConsole(page: Page, sessionId: string | null = null): Promise<void> {
  await page.goto(sessionId === null ? "/" : `/#/chat/${sessionId}`);
  await composer(page).waitFor();
}

/** Writes a message and sends it with Enter. */
export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** Returns the id of the shown conversation, once there is one. */
export async function sessionOf(page: Page): Promise<string> {
  await page.waitForURL(/#\/chat\/./);
  return decodeURIComponent(new URL(page.url()).hash.replace("#/chat/", ""));
}

/** Waits until exactly one match exists and is visible. A failure names the text of the page. */
export async function expectSeen(locator: Locator): Promise<void> {
  try {
    await locator.waitFor();
  } catch (cause) {
    const text = await locator.page().locator("body").innerText();
    throw new Error(`Not seen: ${String(locator)}. The page shows:\n${text.slice(0, 2000)}`, { cause });
  }
}

/** Waits until no match is visible. */
export async function expectGone(locator: Locator): Promise<void> {
  await locator.waitFor({ state: "hidden" });
}

/** Waits until the last answer has this text, streaming or complete. */
export async function expectAnswer(page: Page, text: string | RegExp): Promise<void> {
  await expect.poll(() => answers(page).last().innerText()).toMatch(text);
}

/** Waits until the search index contains the words of the conversation. */
export async function expectIndexed(client: Client, sessionId: string, words: string): Promise<void> {
  await expect.poll(async () => (await client.search(words, { sessionId })).results).not.toEqual([]);
}

/** Waits until the assistant has finished. */
export async function expectRest(page: Page): Promise<void> {
  await expectGone(page.getByRole("button", { name: "Stop" }));
}

/** Opens the advanced settings, which are already open if the tab has an App or a key. */
export async function openAdvanced(page: Page): Promise<void> {
  const advanced = page.locator("details", { hasText: "App key" });
  await advanced.waitFor();
  if ((await advanced.getAttribute("open")) === null)
    await page.getByText("Advanced", { exact: true }).click();
}

/** Opens the operators' area by its URL, without being signed in as an operator. */
export async function openOperate(page: Page): Promise<void> {
  await page.evaluate(() => {
    globalThis.location.hash = "#/operate/overview";
  });
}
