// A person with the key of an App: which App is talked to, with which model, here and in the next conversation.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAdminClient } from "@colloquy/client/admin";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";
import {
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  openConsole,
  say,
  sessionOf,
} from "./console-page.ts";
import { ADMIN_KEY, prepareConsole, SCRIPTED } from "./console-service.ts";
import { serveSeveralApps, type SeveralApps } from "./several-apps.ts";
import { empty, useKeptPage } from "./use-kept-page.ts";

const isLeftOut = await isWithoutChromium();

let service: SeveralApps;
/** Opens the App `support`. */
let key: string;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  service = await serveSeveralApps();
  const admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
  ({ key } = await admin.createKey({ apps: ["support"] }));
}, 120_000);
afterAll(() => service?.stop());

const app = (page: Page) => page.getByRole("combobox", { name: "App" });
const model = (page: Page) => page.getByRole("combobox", { name: "Model" });

/** Enters what stands in the settings, and saves it. */
async function enter(page: Page, { app = "", key = "" }): Promise<void> {
  await page.getByRole("button", { name: /^Settings/ }).click();
  await page.getByRole("textbox", { name: "App", exact: true }).fill(app);
  await page.getByLabel("App key").fill(key);
  await page.getByRole("button", { name: "Save" }).click();
  await expectGone(page.getByRole("dialog"));
}

/** Waits until the service says that the conversation belongs to this App. */
async function expectApp(page: Page, name: string): Promise<void> {
  const id = await sessionOf(page);
  const admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
  await expect.poll(async () => (await admin.getSession(id)).session.app).toBe(name);
}

describe.skipIf(isLeftOut)("Apps and keys in the console", { timeout: 60_000 }, () => {
  const { takePage, openPage } = useKeptPage({ isLeft: true });

  /** The console where it begins, with nothing entered yet. */
  async function open(): Promise<WatchedPage> {
    const watched = await takePage(service.url);
    await empty(watched.page);
    await openConsole(watched.page);
    return watched;
  }

  it("a good key alone takes the App that it opens, and what is begun belongs to that one", async () => {
    const { page } = await open();
    await enter(page, { key });
    await expect.poll(() => app(page).inputValue()).toBe("support");
    await say(page, "count to 3");
    await expectAnswer(page, /1 2 3/);
    await expectApp(page, "support");
  });

  it("the default App is talked to where it is picked, with a model that was picked too", async () => {
    const { page } = await open();
    await enter(page, { key });
    await app(page).selectOption("default");
    await model(page).selectOption(SCRIPTED);
    await say(page, "Hello");
    (await service.model.next()).say("Of the default App.").finish();
    await expectAnswer(page, /Of the default App\./);
    await expectApp(page, "default");
  });

  it("who saves a key and picks an App leaves no session behind", async () => {
    const admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
    const sessions = async () => (await admin.listSessions()).sessions.map(({ session_id }) => session_id);
    const before = await sessions();
    const { page } = await openPage(service.url);
    const done: string[] = [];
    page.on("requestfinished", (request) => {
      const { pathname } = new URL(request.url());
      if (/^\/api\/(?:control\/apps|sessions\/)/.test(pathname)) done.push(request.method());
    });
    await openConsole(page);
    await enter(page, { key });
    await app(page).focus();
    await app(page).selectOption("default");
    // Each list, and what it has made.
    await expect.poll(() => done.toSorted()).toEqual(["DELETE", "DELETE", "GET", "GET"]);
    expect(await sessions()).toEqual(before);
  });

  it("a model that was picked is let go with its App", async () => {
    const { page } = await open();
    await enter(page, { key });
    await app(page).selectOption("default");
    await model(page).selectOption(SCRIPTED);
    await app(page).hover();
    await expect.poll(() => app(page).getByRole("option").allInnerTexts()).toContain("support");
    await app(page).selectOption("support");
    await expect.poll(() => model(page).inputValue()).toBe("demo/assistant");
    await say(page, "count to 3");
    await expectAnswer(page, /1 2 3/);
    await expectApp(page, "support");
  });

  it("another App can be picked after a first message that was not sent, though its model was set", async () => {
    const { page, expectTrouble } = await open();
    expectTrouble(/400/);
    await enter(page, { key });
    await app(page).selectOption("default");
    await model(page).selectOption(SCRIPTED);
    await page.route("**/api/chat*", (route) => route.fulfill({ status: 400, body: "{}" }));
    await say(page, "count to 3");
    await expectSeen(page.getByRole("alert").getByText("Your message was not sent."));
    await page.unroute("**/api/chat*");
    await app(page).hover();
    await expect.poll(() => app(page).getByRole("option").allInnerTexts()).toContain("support");
    await app(page).selectOption("support");
    await page.getByRole("button", { name: "Send" }).click();
    await expectAnswer(page, /1 2 3/);
    await expectApp(page, "support");
  });

  it("what is entered while a conversation is open is of the next one, and the open one goes on with its own App", async () => {
    const { page } = await open();
    await say(page, "count to 3");
    await expectAnswer(page, /1 2 3/);
    await expectRest(page);
    await enter(page, { app: "support", key });
    await expectSeen(page.getByRole("button", { name: "Settings support" }));
    await say(page, "count to 4");
    await expectAnswer(page, /1 2 3 4/);
    await expectApp(page, "default");
    const first = await sessionOf(page);
    await page.getByRole("link", { name: "New chat" }).click();
    await expect.poll(() => app(page).inputValue()).toBe("support");
    await say(page, "count to 5");
    await expectAnswer(page, /1 2 3 4 5/);
    await expectApp(page, "support");
    await expectRest(page);
    await openConsole(page, first);
    await expectAnswer(page, /1 2 3 4/);
    await say(page, "count to 6");
    await expectAnswer(page, /1 2 3 4 5 6/);
    await expectApp(page, "default");
  });
});
