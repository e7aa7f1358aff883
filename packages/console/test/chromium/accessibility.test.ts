// Accessibility and layout: light and dark, phone and desktop and smaller, zoomed, and axe.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findViolationsInBothSchemes, settle } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import {
  answers,
  composer,
  expectAnswer,
  expectGone,
  expectSeen,
  openConsole,
  say,
  openAdvanced,
} from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import { ACCOUNT, askingConversation, restingConversation } from "./full-conversation.ts";

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const RESTING = "11111111-1111-4111-8111-111111111111";
const ASKING = "22222222-2222-4222-8222-222222222222";
const isLeftOut = await isWithoutChromium();

let service: ConsoleService;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  service = await serveConsole();
  await restingConversation(service, RESTING);
  await askingConversation(service, ASKING);
});
afterAll(() => service?.stop());

type Views = Readonly<Record<string, (page: Page) => Promise<void>>>;

/** Views by name, with the actions that open each. One page walks from view to view. */
const WALKS: Readonly<Record<string, Views>> = {
  "who begins": {
    "a new chat": (page) => openConsole(page),
    "the wallet": async (page) => {
      await openSideBar(page);
      await page.getByRole("button", { name: "Connect a wallet" }).click();
      await expectSeen(page.getByRole("dialog", { name: "Wallet" }));
    },
    "the settings": async (page) => {
      await page.keyboard.press("Escape");
      await expectGone(page.getByRole("dialog", { name: "Wallet" }));
      await openSideBar(page);
      await page.getByRole("button", { name: "Settings" }).click();
      await expectSeen(page.getByRole("dialog", { name: "Settings" }));
    },
    "a key that is refused": async (page) => {
      await openAdvanced(page);
      await page.getByLabel("App key").fill("no key of anybody");
      await page.getByRole("button", { name: "Save" }).click();
      await expectSeen(page.getByRole("dialog").getByRole("alert"));
    },
  },
  "who reads a conversation": {
    "a conversation": async (page) => {
      await openConsole(page, RESTING);
      await expectSeen(answers(page).getByText("Stopped"));
    },
    "calls of tools, opened": async (page) => {
      await pressCalls(page);
      await expectSeen(answers(page).getByText("Result").first());
    },
    "the developer's panel: Events": async (page) => {
      await pressCalls(page);
      await expectGone(answers(page).getByText("Result").first());
      await page.getByRole("button", { name: "Developer panel" }).click();
      await openTab(page, "Events");
    },
    "the developer's panel: Snapshot": (page) => openTab(page, "Snapshot"),
    "the developer's panel: Records": (page) => openTab(page, "Records"),
    "the developer's panel: Requests": (page) => openTab(page, "Requests"),
  },
  "who waits for an answer": {
    "an answer that is written": async (page) => {
      await openConsole(page);
      await say(page, "Count the leaves");
      await service.model.next().then((call) => call.say("One, two"));
      await expectAnswer(page, /One, two/);
    },
  },
  "who is asked": {
    "what the assistant asks": async (page) => {
      await openConsole(page, ASKING);
      await expectSeen(page.getByRole("group", { name: "The assistant asks" }).nth(3));
    },
  },
  "who has a wallet": {
    "a conversation that is renamed": async (page) => {
      await page.addInitScript((wallet) => {
        sessionStorage.setItem("colloquy.settings", JSON.stringify({ wallet }));
      }, ACCOUNT);
      // axe does not know the contrast of what a dialog covers; a conversation has text beside the menu.
      await openConsole(page, RESTING);
      await expectSeen(answers(page).getByText("Stopped"));
      await openSideBar(page);
      await page.getByRole("button", { name: "Menu of Three cups of sencha" }).click();
      await page.getByRole("menuitem", { name: "Rename" }).click();
      await expectSeen(page.getByRole("textbox", { name: "New title" }));
    },
    "the list of a wallet, and deleting from it": async (page) => {
      await page.getByRole("textbox", { name: "New title" }).press("Escape");
      await expectGone(page.getByRole("textbox", { name: "New title" }));
      await openSideBar(page);
      await page.getByRole("button", { name: "Menu of Three cups of sencha" }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await expectSeen(page.getByRole("dialog", { name: "Delete this conversation?" }));
    },
  },
  "who loses the connection": {
    "the connection lost": async (page) => {
      await openConsole(page, RESTING);
      await expectSeen(answers(page).getByText("Stopped"));
      service.proxy.plan = () => "refuse";
      service.proxy.cut();
      await expectSeen(page.getByRole("status", { name: "Connection" }).getByText("The connection is lost"));
    },
  },
  "whose message fails": {
    "a message that was not sent": async (page) => {
      await openConsole(page);
      service.proxy.plan = ({ method }) => (method === "POST" ? { status: 400, body: "{}" } : null);
      await say(page, "Hello");
      await expectSeen(page.getByRole("alert").getByText("Your message was not sent"));
    },
  },
  "whose message fails elsewhere": {
    "a message that was left and not sent": async (page) => {
      await openConsole(page);
      const left = Promise.withResolvers<void>();
      await page.route("**/api/chat*", async (route) => {
        await left.promise;
        await route.fulfill({ status: 400, body: "{}" });
      });
      await say(page, "Hello");
      await page.goto("/#/operate/overview");
      await expectSeen(page.getByLabel("Admin key"));
      left.resolve();
      await expectSeen(page.getByRole("alert").getByText("In the new chat that you left"));
    },
  },
};

/** Toggles the tool calls of the idle conversation. */
async function pressCalls(page: Page): Promise<void> {
  for (const summary of await answers(page).getByText("Current time", { exact: true }).all())
    await summary.click();
}

async function openTab(page: Page, name: string): Promise<void> {
  await page.getByRole("tab", { name }).click();
  await expectSeen(page.getByRole("tabpanel", { name }));
}

/** Opens the side bar, which is a dialog on narrow screens. */
async function openSideBar(page: Page): Promise<void> {
  const main = page.getByRole("navigation", { name: "Main" });
  if (await main.isVisible()) return;
  const menu = page.getByRole("button", { name: "Menu", exact: true });
  if (await menu.isVisible()) await menu.click();
  await expectSeen(main);
}

/**
 * Returns elements beyond the right edge of the page, or of a container, that cannot be scrolled to. Runs in
 * the page.
 */
function findCutOff(): string[] {
  const found: string[] = [];
  if (document.documentElement.scrollWidth > window.innerWidth) found.push("The page scrolls to its side");
  for (const element of document.body.querySelectorAll("*")) {
    const { right, left, width } = element.getBoundingClientRect();
    const isHidden =
      width <= 1 || element.closest("svg, .visually-hidden, .uplot, option, [aria-hidden=true]") !== null;
    if (isHidden || (right <= window.innerWidth + 1 && left >= -1)) continue;
    let holder = element.parentElement;
    while (holder !== null && !/auto|scroll/.test(getComputedStyle(holder).overflowX))
      holder = holder.parentElement;
    // Scrolling containers may be wider than the page.
    if (
      holder !== null &&
      holder !== document.documentElement &&
      holder.scrollWidth > holder.clientWidth &&
      holder.getBoundingClientRect().right <= window.innerWidth + 1
    )
      continue;
    found.push(`${element.tagName} ${element.className}: ${element.textContent?.slice(0, 40) ?? ""}`);
  }
  return found;
}

describe.skipIf(isLeftOut)("the layout of the console", () => {
  const openPage = useChromium();

  async function open(options: Parameters<typeof openPage>[1]): Promise<Page> {
    const { page, expectTrouble } = await openPage(service.url, { reducedMotion: "reduce", ...options });
    // Failed requests in these views log this.
    expectTrouble(/^console: Failed to load resource/);
    service.proxy.plan = () => null;
    return page;
  }

  const expectNothingWrong = async (page: Page, view: string): Promise<void> => {
    const violations = await findViolationsInBothSchemes(page);
    expect({ view, violations }).toEqual({ view, violations: [] });
  };
  const expectNothingCutOff = async (
    page: Page,
    view: string,
    size: { readonly width: number; readonly height: number },
  ): Promise<void> => {
    await page.setViewportSize(size);
    await settle(page);
    expect({ view, size, cutOff: await page.evaluate(findCutOff) }).toEqual({ view, size, cutOff: [] });
  };

  it.each(Object.keys(WALKS))("is accessible on a desktop, in light and dark: for %s", async (walk) => {
    const page = await open({ viewport: DESK });
    for (const [view, go] of Object.entries(WALKS[walk]!)) {
      await go(page);
      await expectNothingWrong(page, view);
    }
  });

  it.each(Object.keys(WALKS))(
    "is accessible on a phone, in light and dark, at 320 pixels, and at 200 % zoom: for %s",
    async (walk) => {
      const page = await open({ viewport: PHONE });
      for (const [view, go] of Object.entries(WALKS[walk]!)) {
        await page.setViewportSize(PHONE);
        await go(page);
        await expectNothingWrong(page, view);
        await expectNothingCutOff(page, view, { width: 320, height: 640 });
        // A window of 1280 by 720 at 200 %.
        await expectNothingCutOff(page, view, { width: 640, height: 360 });
      }
    },
  );

  it("animates nothing with reduced motion", async () => {
    const page = await open({ viewport: DESK });
    await openConsole(page, RESTING);
    const moving = await page.evaluate(() =>
      Array.from(document.querySelectorAll("body *"))
        .filter((element) => getComputedStyle(element).transitionProperty !== "none")
        .map(({ tagName, className }) => `${tagName} ${className}`),
    );
    expect(moving).toEqual([]);
  });

  it("shows the composer with its text on the smallest screen", async () => {
    const page = await open({ viewport: { width: 320, height: 320 } });
    await openConsole(page);
    await say(page, "Hello");
    (await service.model.next()).say("Hi there.").finish();
    await expectAnswer(page, /Hi there\./);
    const box = await composer(page).boundingBox();
    expect(box!.y + box!.height).toBeLessThanOrEqual(320);
    expect(box!.height).toBeGreaterThan(15);
  });
});
