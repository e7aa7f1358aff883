// Chromium for the tests of a file: started once, with a separate context per page. Each test fails if any of
// its pages had an error.

import type { BrowserContextOptions } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { launchChromium, type LaunchedChromium } from "./chromium.ts";
import { watchPage, type WatchedPage } from "./watched-page.ts";

/** Opens a page that may send requests to this origin only. It is closed at the end of the test. */
export type OpenPage = (origin: string, options?: BrowserContextOptions) => Promise<WatchedPage>;

/** Call it in a `describe` that is skipped without Chromium. */
export function useChromium(): OpenPage {
  let launched: LaunchedChromium | null = null;
  let opened: WatchedPage[] = [];

  beforeAll(async () => {
    launched = await launchChromium();
  }, 120_000);

  afterEach(async () => {
    const pages = opened;
    opened = [];
    // A round trip to each page, after which its errors have arrived.
    await Promise.all(pages.map(({ page }) => page.evaluate(() => null).catch(() => null)));
    const troubles = pages.flatMap((watched) => watched.troubles());
    await Promise.all(pages.map(({ context }) => context.close()));
    expect({ troubles, outside: launched?.outside.take() }).toEqual({ troubles: [], outside: [] });
  });

  afterAll(async () => {
    await launched?.close();
  });

  return async (origin, options) => {
    if (launched === null) throw new Error("Chromium is there from the first test on");
    const { newContext } = launched;
    const watched = await watchPage(newContext, origin, options);
    opened.push(watched);
    return watched;
  };
}
