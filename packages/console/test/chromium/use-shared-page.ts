// Chromium with one page for all tests of a file: the first load dominates short tests. As with
// `useChromium`, the page must have no errors at the end of each test.

import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import {
  isWithoutChromium,
  launchChromium,
  type LaunchedChromium,
} from "../../../../test/browser/chromium.ts";
import type { OpenPage } from "../../../../test/browser/use-chromium.ts";
import { watchPage, type WatchedPage } from "../../../../test/browser/watched-page.ts";

export interface SharedPage {
  /**
   * Returns the file's page with empty storage; it is new for the first test. It still shows and has in
   * memory what the last test left, including viewport, clock and scripts.
   */
  readonly takePage: (origin: string) => Promise<WatchedPage>;
  /** Opens a separate page for the test, closed at its end. */
  readonly openPage: OpenPage;
}

export interface SharedPageOptions {
  readonly settings?: BrowserContextOptions;
  /** Runs once, before the page loads anything. */
  readonly prepare?: (context: BrowserContext) => Promise<unknown>;
  /** Leaves the page blank at the end of a test, because its service stops. */
  readonly isBlankAfter?: boolean;
}

/** Tests that use a page are skipped without Chromium; nothing is started then. */
export function useSharedPage({
  settings = {},
  prepare,
  isBlankAfter = false,
}: SharedPageOptions = {}): SharedPage {
  let launched: LaunchedChromium;
  let kept: (WatchedPage & { readonly origin: string }) | null = null;
  /** Errors that the running test expects in the kept page, and the number of errors before it. */
  let expected: RegExp[] = [];
  let before = 0;
  let own: WatchedPage[] = [];

  const open: OpenPage = (origin, options) => watchPage(launched.newContext, origin, options);

  beforeAll(async () => {
    if (!(await isWithoutChromium())) launched = await launchChromium();
  }, 120_000);
  afterAll(() => launched?.close());

  afterEach(async ({ task }) => {
    const pages = own;
    own = [];
    // Collect pending errors before the page closes, so that the next test does not get them.
    await kept?.page.evaluate(() => null).catch(() => null);
    const inKept = (kept?.troubles() ?? []).slice(before);
    const troubles = inKept.filter((trouble) => !expected.some((kind) => kind.test(trouble)));
    troubles.push(...pages.flatMap((watched) => watched.troubles()));
    expected = [];
    before += inKept.length;
    await Promise.all(pages.map(({ context }) => context.close()));
    // Discard the page after a failure, so that it does not affect the next test.
    if (task.result?.state === "fail" || troubles.length > 0) await discard();
    else if (kept !== null) {
      await tidy(kept);
      if (isBlankAfter) await kept.page.goto("about:blank");
    }
    expect({ troubles, outside: launched.outside.take() }).toEqual({ troubles: [], outside: [] });
  });

  async function discard(): Promise<void> {
    await kept?.context.close();
    kept = null;
    before = 0;
  }

  return {
    takePage: async (origin) => {
      if (kept !== null && kept.origin !== origin) await discard();
      if (kept === null) {
        const watched = await open(origin, settings);
        await prepare?.(watched.context);
        kept = { ...watched, origin };
      }
      return { ...kept, expectTrouble: (kind) => void expected.push(kind) };
    },
    openPage: async (origin, options) => {
      const watched = await open(origin, options);
      own.push(watched);
      return watched;
    },
  };
}

/** Removes what a test has added to the context and its storage. */
async function tidy({ page, context }: WatchedPage): Promise<void> {
  await Promise.all(
    context.pages().map(async (other) => {
      if (other !== page) await other.close();
    }),
  );
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.setOffline(false);
  // A blank page has no storage.
  if (page.url() === "about:blank") return;
  await clearStorage(page);
}

/** Leaves the current page, which may store something on the way, and then empties the storage. */
export async function empty(page: Page): Promise<void> {
  if (page.url() === "about:blank") return;
  const body = '<!doctype html><link rel="icon" href="data:,">';
  await page.route("**/nothing", (route) => route.fulfill({ contentType: "text/html", body }));
  await page.goto("/nothing");
  await clearStorage(page);
}

async function clearStorage(page: Page): Promise<void> {
  await page.evaluate(() => {
    localStorage.clear();
    sessionStorage.clear();
  });
}
