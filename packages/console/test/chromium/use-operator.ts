// The operators' area on a service with several Apps, with the admin key.

import { createAdminClient, type AdminClient } from "@colloquy/client/admin";
import { createSystemClock } from "../../../engine/src/wiring/clock.ts";
import type { Clock } from "../../../engine/src/core/ports/driven/clock.ts";
import { RoundRobin } from "../../../server/test/round-robin.ts";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { expectGone, expectSeen } from "./console-page.ts";
import { ADMIN_KEY, prepareConsole } from "./console-service.ts";
import { serveSeveralApps, type SeveralApps } from "./several-apps.ts";
import { useSharedPage } from "./use-shared-page.ts";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import type { OpenPage } from "../../../../test/browser/use-chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";

export const DESK = { width: 1440, height: 900 };

export interface Operator {
  readonly service: SeveralApps;
  readonly admin: AdminClient;
  /** Advances the service's clock. */
  readonly pass: (ms: number) => void;
  readonly openPage: OpenPage;
  /**
   * Returns a blank page with the admin key entered and the service's clock. Shared by all tests that need no
   * special options.
   */
  readonly openKeyed: (options?: BrowserContextOptions) => Promise<WatchedPage>;
  /** The same, showing the view. */
  readonly open: (view: string, options?: BrowserContextOptions) => Promise<Page>;
}

/**
 * Starts a service with several Apps for each test. Call it in a `describe` that is skipped without Chromium.
 */
export function useOperator(): Operator {
  let service: SeveralApps;
  let admin: AdminClient;
  let clock: MovedClock;
  /** Noon of this day in UTC: all of a test happens in one hour and one day. */
  let noon: number;
  /** One address for all services, so that a page can be reused. */
  let front: RoundRobin;
  beforeAll(async () => {
    front = await RoundRobin.start();
    await prepareConsole();
  }, 120_000);
  afterAll(() => front.stop());
  // Registered before Chromium's hooks, so that pages, which keep polling, are closed or left before the
  // service ends.
  beforeEach(async () => {
    noon = new Date().setUTCHours(12, 0, 0, 0);
    clock = clockFrom(noon);
    service = await serveSeveralApps({ clock });
    front.targets = [Number(new URL(service.url).port)];
    admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
  });
  afterEach(async () => {
    front.cut();
    await service.stop();
  });
  const { takePage, openPage } = useSharedPage({
    settings: { viewport: DESK },
    prepare: enterKey,
    isBlankAfter: true,
  });
  const openKeyed = async (options?: BrowserContextOptions): Promise<WatchedPage> => {
    const watched =
      options === undefined
        ? await takePage(`http://127.0.0.1:${front.port}`)
        : await openPage(service.url, { viewport: DESK, ...options });
    if (options !== undefined) await enterKey(watched.context);
    await watched.page.clock.setFixedTime(noon + HALF_AN_HOUR);
    return watched;
  };
  return {
    get service() {
      return service;
    },
    get admin() {
      return admin;
    },
    pass: (ms) => clock.pass(ms),
    openPage,
    openKeyed,
    open: async (view, options) => {
      const { page } = await openKeyed(options);
      await page.goto(`/#/operate/${view}`);
      await expectSeen(page.getByRole("heading", { level: 2 }));
      await expectGone(page.getByText("Loading…"));
      return page;
    },
  };
}

const HALF_AN_HOUR = 30 * 60_000;

interface MovedClock extends Clock {
  pass(ms: number): void;
}

/** The machine's clock shifted to `begin`, milliseconds since 1970. Timers run on the machine's clock. */
function clockFrom(begin: number): MovedClock {
  const clock = createSystemClock();
  const shift = begin - clock.now();
  let passed = 0;
  return {
    ...clock,
    now: () => clock.now() + shift + passed,
    monotonic: () => clock.monotonic() + passed,
    pass: (ms) => void (passed += ms),
  };
}

/** Stores the admin key in everything opened from now on. */
export async function enterKey(pages: Page | BrowserContext): Promise<void> {
  await pages.addInitScript((adminKey) => {
    // A blank page has no storage.
    if (globalThis.location.protocol === "about:") return;
    const { sessionStorage } = globalThis as unknown as Stored;
    sessionStorage.setItem("colloquy.settings", JSON.stringify({ adminKey }));
  }, ADMIN_KEY);
}

interface Stored {
  readonly sessionStorage: { setItem(name: string, value: string): void };
}
