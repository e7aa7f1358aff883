// The operators' area over a service with several Apps, with the operator's key.

import { createAdminClient, type AdminClient } from "@colloquy/client/admin";
import { createSystemClock } from "../../../server/src/clock.ts";
import type { Clock } from "../../../server/src/core/ports/clock.ts";
import { afterEach, beforeAll, beforeEach } from "vitest";
import { expectGone, expectSeen } from "./console-page.ts";
import { ADMIN_KEY, prepareConsole } from "./console-service.ts";
import { serveSeveralApps, type SeveralApps } from "./several-apps.ts";
import type { BrowserContextOptions, Page } from "playwright-core";
import { type OpenPage, useChromium } from "../../../../test/browser/use-chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";

export const DESK = { width: 1440, height: 900 };

export interface Operator {
  readonly service: SeveralApps;
  readonly admin: AdminClient;
  readonly openPage: OpenPage;
  /** A page that the operator's key was entered in, at nothing yet. It has the time of the service. */
  readonly openKeyed: (options?: BrowserContextOptions) => Promise<WatchedPage>;
  /** The same, when it shows the view. */
  readonly open: (view: string, options?: BrowserContextOptions) => Promise<Page>;
}

/** A service with several Apps for each test. Call it in a `describe` that is skipped where there is no Chromium. */
export function useOperator(): Operator {
  let service: SeveralApps;
  let admin: AdminClient;
  /** Of this day, in UTC: whatever a test does lies in one hour and in one day. */
  let noon: number;
  beforeAll(() => prepareConsole(), 120_000);
  // Before those of Chromium, so that pages, which go on asking, are closed before the service is.
  beforeEach(async () => {
    noon = new Date().setUTCHours(12, 0, 0, 0);
    service = await serveSeveralApps({ clock: clockFrom(noon) });
    admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
  });
  afterEach(() => service.stop());
  const openPage = useChromium();
  const openKeyed = async (options?: BrowserContextOptions): Promise<WatchedPage> => {
    const watched = await openPage(service.url, { viewport: DESK, ...options });
    await enterKey(watched.page);
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

/** The machine's clock, set to `begin`, milliseconds since 1970. */
function clockFrom(begin: number): Clock {
  const clock = createSystemClock();
  const shift = begin - clock.now();
  return { ...clock, now: () => clock.now() + shift };
}

/** Whatever is opened in this page from now on has the operator's key. */
export async function enterKey(page: Page): Promise<void> {
  await page.addInitScript((adminKey) => {
    const { sessionStorage } = globalThis as unknown as Stored;
    sessionStorage.setItem("colloquy.settings", JSON.stringify({ adminKey }));
  }, ADMIN_KEY);
}

interface Stored {
  readonly sessionStorage: { setItem(name: string, value: string): void };
}
