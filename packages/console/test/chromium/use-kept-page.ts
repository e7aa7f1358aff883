// Chromium for the tests of a file, with a page that goes from one test to the next: in a fresh one, most of a short test is the first
// load of its page. As with `useChromium`, nothing may have gone wrong in any page at the end of a test.

import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import {
  isWithoutChromium,
  launchChromium,
  type LaunchedChromium,
} from "../../../../test/browser/chromium.ts";
import type { OpenPage } from "../../../../test/browser/use-chromium.ts";
import { watchPage, type WatchedPage } from "../../../../test/browser/watched-page.ts";

export interface KeptPage {
  /**
   * The page of the file, with nothing stored in it; it is new for the first test. What it shows, and has in its memory, is what the last
   * one has left, and so is what a test has set of it: its size, its clock, its scripts.
   */
  readonly takePage: (origin: string) => Promise<WatchedPage>;
  /** A page of the test's own, closed at its end. */
  readonly openPage: OpenPage;
}

export interface KeptPageOptions {
  readonly settings?: BrowserContextOptions;
  /** Once, before the page loads anything. */
  readonly prepare?: (context: BrowserContext) => Promise<unknown>;
  /** At the end of a test the page shows nothing any more, because what serves it stops. */
  readonly isLeft?: boolean;
}

/** Tests that take a page are skipped where there is no Chromium; nothing is started there. */
export function useKeptPage({ settings = {}, prepare, isLeft = false }: KeptPageOptions = {}): KeptPage {
  let launched: LaunchedChromium;
  let kept: (WatchedPage & { readonly origin: string }) | null = null;
  /** What the running test means to happen in the kept page, and how much had happened in it before. */
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
    // What a page has begun by now is heard before it is closed, or the next test has it.
    await kept?.page.evaluate(() => null).catch(() => null);
    const inKept = (kept?.troubles() ?? []).slice(before);
    const troubles = inKept.filter((trouble) => !expected.some((kind) => kind.test(trouble)));
    troubles.push(...pages.flatMap((watched) => watched.troubles()));
    expected = [];
    before += inKept.length;
    await Promise.all(pages.map(({ context }) => context.close()));
    // What a test has broken is not the next one's.
    if (task.result?.state === "fail" || troubles.length > 0) await discard();
    else if (kept !== null) {
      await tidy(kept);
      if (isLeft) await kept.page.goto("about:blank");
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

/** Takes away what a test has put beside the page and into its storage. */
async function tidy({ page, context }: WatchedPage): Promise<void> {
  await Promise.all(
    context.pages().map(async (other) => {
      if (other !== page) await other.close();
    }),
  );
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.setOffline(false);
  // At nothing there is no storage.
  if (page.url() === "about:blank") return;
  await clearStorage(page);
}

/** Takes the page away from what it shows, which keeps something when it is left, and then empties its storage. */
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
