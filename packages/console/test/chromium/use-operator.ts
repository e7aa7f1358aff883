// The operators' area over a service with several Apps, with the operator's key.

import { createAdminClient, type AdminClient } from "@colloquy/client/admin";
import { createSystemClock } from "../../../server/src/wiring/clock.ts";
import type { Clock } from "../../../server/src/core/ports/driven/clock.ts";
import { RoundRobin } from "../../../server/test/round-robin.ts";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { expectGone, expectSeen } from "./console-page.ts";
import { ADMIN_KEY, prepareConsole } from "./console-service.ts";
import { serveSeveralApps, type SeveralApps } from "./several-apps.ts";
import { useKeptPage } from "./use-kept-page.ts";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import type { OpenPage } from "../../../../test/browser/use-chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";

export const DESK = { width: 1440, height: 900 };

export interface Operator {
  readonly service: SeveralApps;
  readonly admin: AdminClient;
  /** So much time passes for the service. */
  readonly pass: (ms: number) => void;
  readonly openPage: OpenPage;
  /**
   * A page that the operator's key was entered in, at nothing yet. It has the time of the service. The same for all tests that ask for
   * nothing special.
   */
  readonly openKeyed: (options?: BrowserContextOptions) => Promise<WatchedPage>;
  /** The same, when it shows the view. */
  readonly open: (view: string, options?: BrowserContextOptions) => Promise<Page>;
}

/** A service with several Apps for each test. Call it in a `describe` that is skipped where there is no Chromium. */
export function useOperator(): Operator {
  let service: SeveralApps;
  let admin: AdminClient;
  let clock: MovedClock;
  /** Of this day, in UTC: whatever a test does lies in one hour and in one day. */
  let noon: number;
  /** One address for all of them, so that a page goes from one to the next. */
  let front: RoundRobin;
  beforeAll(async () => {
    front = await RoundRobin.start();
    await prepareConsole();
  }, 120_000);
  afterAll(() => front.stop());
  // Before those of Chromium, so that pages, which go on asking, are closed or left before the service ends.
  beforeEach(async () => {
    noon = new Date().setUTCHours(12, 0, 0, 0);
    clock = clockFrom(noon);
    service = await serveSeveralApps({ clock });
    front.targets = [Number(new URL(service.url).port)];
    admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
  });
  afterEach(() => service.stop());
  const { takePage, openPage } = useKeptPage({
    settings: { viewport: DESK },
    prepare: enterKey,
    isLeft: true,
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

/** The machine's clock, set to `begin`, milliseconds since 1970. Its timers are the machine's, whatever time passes beside. */
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

/** Whatever is opened there from now on has the operator's key. */
export async function enterKey(pages: Page | BrowserContext): Promise<void> {
  await pages.addInitScript((adminKey) => {
    // A page that is at nothing has no storage.
    if (globalThis.location.protocol === "about:") return;
    const { sessionStorage } = globalThis as unknown as Stored;
    sessionStorage.setItem("colloquy.settings", JSON.stringify({ adminKey }));
  }, ADMIN_KEY);
}

interface Stored {
  readonly sessionStorage: { setItem(name: string, value: string): void };
}
