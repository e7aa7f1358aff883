// The console for the tests of a file: one service and one page, where each test begins a conversation of its own.

import type { BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import type { OpenPage } from "../../../../test/browser/use-chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";
import { composer, expectSeen, openConsole } from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import { empty, useKeptPage } from "./use-kept-page.ts";

export interface KeptConsole {
  readonly service: ConsoleService;
  /** The page of the file at a new chat. */
  readonly newChat: () => Promise<WatchedPage>;
  /** The same, loaded anew: for what a page keeps in its memory and tells wherever one goes. */
  readonly loadAnew: () => Promise<WatchedPage>;
  /** A page of the test's own, at nothing yet. */
  readonly openPage: OpenPage;
}

/** Nothing is started where there is no Chromium. `prepare` is for what the page has from its first load on. */
export function useKeptConsole(prepare?: (context: BrowserContext) => Promise<unknown>): KeptConsole {
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
  const { takePage, openPage } = useKeptPage({ ...(prepare !== undefined && { prepare }) });
  // The next test would take for its own what this one has left. Before the page is looked at, because that may throw.
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
      // A draft that a test has left is in the memory of the page.
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
