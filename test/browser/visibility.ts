// Simulates hidden tabs, because headless Chromium treats all tabs as visible.

import type { BrowserContext, Page } from "playwright-core";

/** Overrides `document.visibilityState` and fires `visibilitychange`. */
export async function setVisibility(page: Page, state: "hidden" | "visible"): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${state}" });
    document.dispatchEvent(new Event("visibilitychange"));
  `);
}

/**
 * Shortens the client's visibility check from 15 seconds to 100 ms in pages opened afterwards. A fake clock does not work,
 * because streams would exceed the silence timeout.
 */
export async function checkVisibilityOften(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const { setTimeout } = globalThis;
    globalThis.setTimeout = ((run: () => void, ms?: number) =>
      setTimeout(run, ms === 15_000 ? 100 : ms)) as typeof setTimeout;
  });
}
