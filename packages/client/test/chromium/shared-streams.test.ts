// Opens more sessions and tabs than Chromium's six HTTP/1.1 connections per origin.

import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { setVisibility, checkVisibilityOften } from "../../../../test/browser/visibility.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import type { Connection, LiveSession } from "../../src/index.ts";
import { serve, type Served } from "../served.ts";
import { buildClientPage, servePage, type InPage } from "./client-page.ts";

interface FollowingPage extends InPage {
  sessions: LiveSession[];
}

let served: Served;
beforeAll(async () => {
  const files = await buildClientPage();
  served = await serve();
  servePage(served.proxy, files);
});
afterAll(() => served?.stop());

/** Opens a tab with `sessions` subscribed sessions. */
async function openTab(context: BrowserContext, sessions = 1): Promise<Page> {
  const page = await context.newPage();
  await page.goto("/");
  await page.waitForFunction(() => "colloquy" in globalThis);
  await page.evaluate((count) => {
    const own = globalThis as unknown as FollowingPage;
    const client = own.colloquy.createClient();
    own.sessions = Array.from({ length: count }, () => client.session());
    for (const session of own.sessions) session.subscribe(() => undefined);
  }, sessions);
  return page;
}

interface Shown {
  readonly hasSnapshot: boolean;
  readonly connection: Connection["state"];
  readonly code: string | undefined;
}

const shown = (page: Page): Promise<Shown[]> =>
  page.evaluate(() =>
    (globalThis as unknown as FollowingPage).sessions.map((session) => ({
      hasSnapshot: session.getSnapshot() !== null,
      connection: session.getConnection().state,
      code: session.getConnection().error?.code,
    })),
  );

/** Sends a message in the tab's first session and waits for the answer. */
async function chat(page: Page): Promise<void> {
  await page.evaluate(() => (globalThis as unknown as FollowingPage).sessions[0]!.send("Hi"));
  (await served.model.next()).say("Hello").finish();
  await page.waitForFunction(
    () =>
      (globalThis as unknown as FollowingPage).sessions[0]!.getSnapshot()?.messages.at(-1)?.content ===
      "Hello",
  );
}

async function expectStates(
  pages: readonly Page[],
  expected: Readonly<Record<string, number>>,
): Promise<void> {
  await expect
    .poll(async () => {
      const all = (await Promise.all(pages.map(shown))).flat();
      const states = all.map(({ hasSnapshot, connection, code }) =>
        [hasSnapshot ? "shown" : "not shown", connection, code].filter(Boolean).join(" "),
      );
      return Object.fromEntries(
        [...new Set(states)].map((state) => [state, states.filter((one) => one === state).length]),
      );
    })
    .toEqual(expected);
}

const LIVE = "shown live";
const POLLING = "shown polling no_stream_slot";

describe.skipIf(await isWithoutChromium()).each([
  ["with locks", true],
  ["in an insecure context, without locks", false],
])("one origin in Chromium, %s", (_name, hasLocks) => {
  const openPage = useChromium();

  async function openContext(): Promise<BrowserContext> {
    const { context } = await openPage(served.url);
    if (!hasLocks) {
      await context.addInitScript(() => {
        Object.defineProperty(navigator, "locks", { value: undefined });
        // The page waits 300 ms for the replies of other tabs, which a busy machine may not run in time.
        const { setTimeout } = globalThis;
        globalThis.setTimeout = ((run: () => void, ms?: number) =>
          setTimeout(run, ms === 300 ? 1_500 : ms)) as typeof setTimeout;
      });
    }
    return context;
  }

  it("streams in four of eight tabs, and promotes polling tabs when others close", async () => {
    const context = await openContext();
    const tabs: Page[] = [];
    for (let tab = 1; tab <= 8; tab += 1) tabs.push(await openTab(context));
    await expectStates(tabs, { [LIVE]: 4, [POLLING]: 4 });
    expect(served.proxy.streams).toBe(4);
    for (const tab of tabs) await chat(tab);
    for (const closed of tabs.splice(0, 2)) await closed.close();
    await expectStates(tabs, { [LIVE]: 4, [POLLING]: 2 });
    for (const closed of tabs.splice(0)) await closed.close();
    const [last] = [await openTab(context)];
    await expectStates([last], { [LIVE]: 1 });
  });

  it("keeps 40 sessions of one page up to date", async () => {
    const context = await openContext();
    const page = await openTab(context, 40);
    await expectStates([page], { [LIVE]: 4, [POLLING]: 36 });
    await chat(page);
    const other = await openTab(context);
    await expectStates([other], { [POLLING]: 1 });
    await chat(other);
  });

  it("gives a visible tab the stream of a hidden one", async () => {
    const context = await openContext();
    await checkVisibilityOften(context);
    const page = await openTab(context, 4);
    await expectStates([page], { [LIVE]: 4 });
    const shownTab = await openTab(context);
    await expectStates([shownTab], { [POLLING]: 1 });
    await setVisibility(page, "hidden");
    await expectStates([shownTab], { [LIVE]: 1 });
    // The hidden sessions stay up to date by polling.
    await chat(page);
  });
});
