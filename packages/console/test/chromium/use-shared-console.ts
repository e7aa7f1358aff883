// One service and one page for the tests of a file; each test starts a conversation of its own.

import type { BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import type { OpenPage } from "../../../../test/browser/use-chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";
import { composer, expectSeen, openConsole } from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import { empty, useSharedPage } from "./use-shared-page.ts";

export interface SharedConsole {
  readonly service: ConsoleService;
  /** Returns the file's page at a new chat. */
  readonly newChat: () => Promise<WatchedPage>;
  /** The same after a reload, for state in memory that the page shows everywhere. */
  readonly loadAnew: () => Promise<WatchedPage>;
  /** Opens a separate blank page for the test. */
  readonly openPage: OpenPage;
}

/** Starts nothing without Chromium. `prepare` runs before the page's first load. */
export function useSharedConsole(prepare?: (context: BrowserContext) => Promise<unknown>): SharedConsole {
  let service: ConsoleService;
  beforeAll(async () => {
    if (await isWithoutChromium()) return;
    await prepareConsole();
    service = await serveConsole();
  }, 120_000);
  afterAll(() => service?.stop());
  beforeEach(() => {
    service.proxy.plan = () => null;
    service.proxy.heads.length = 0;
  });
  let left = 0;
  afterEach(({ task }) => {
    if (task.result?.state !== "fail") expect(left).toBe(0);
  });
  const { takePage, openPage } = useSharedPage({ ...(prepare !== undefined && { prepare }) });
  // Leftovers would affect the next test. Checked before the page, because that may throw.
  afterEach(async () => {
    left = service.model.waitingCalls;
    for (let call = 0; call < left; call += 1) await service.model.next();
  });
  return {
    get service() {
      return service;
    },
    newChat: async () => {
      const watched = await takePage(service.url);
      await watched.page.goto("/#/");
      await expectSeen(watched.page.getByRole("heading", { name: "What is on your mind?" }));
      // A draft left by a test is in the page's memory.
      if ((await composer(watched.page).inputValue()) !== "") await openAnew(watched);
      return watched;
    },
    loadAnew: async () => {
      const watched = await takePage(service.url);
      await openAnew(watched);
      return watched;
    },
    openPage,
  };
}

async function openAnew({ page }: WatchedPage): Promise<void> {
  await empty(page);
  await openConsole(page);
}
