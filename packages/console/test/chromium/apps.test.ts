// The App and model of the current and the next conversation, for a person with an App key.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAdminClient } from "@colloquy/client/admin";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
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
  openAdvanced,
} from "./console-page.ts";
import { ADMIN_KEY, prepareConsole, SCRIPTED } from "./console-service.ts";
import { serveSeveralApps, type SeveralApps } from "./several-apps.ts";
import { empty, useSharedPage } from "./use-shared-page.ts";

const isLeftOut = await isWithoutChromium();

let service: SeveralApps;
/** Key of the App `support`. */
let key: string;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  service = await serveSeveralApps({ hasBrokenTools: true });
  const admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
  ({ key } = await admin.createKey({ apps: ["support"] }));
});
afterAll(() => service?.stop());

const app = (page: Page) => page.getByRole("combobox", { name: "App" });
const model = (page: Page) => page.getByRole("combobox", { name: "Model" });

/** Fills in the settings and saves them. */
async function enter(page: Page, { app = "", key = "" }): Promise<void> {
  await page.getByRole("button", { name: /^Settings/ }).click();
  await openAdvanced(page);
  await page.getByRole("textbox", { name: "App", exact: true }).fill(app);
  await page.getByLabel("App key").fill(key);
  await page.getByRole("button", { name: "Save" }).click();
  await expectGone(page.getByRole("dialog"));
}

/** Waits until the service reports this App for the conversation. */
async function expectApp(page: Page, name: string): Promise<void> {
  const id = await sessionOf(page);
  const admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
  await expect.poll(async () => (await admin.getSession(id)).session.app).toBe(name);
}

describe.skipIf(isLeftOut)("the console with Apps and keys", () => {
  const { takePage, openPage } = useSharedPage({ isBlankAfter: true });

  /** Opens the console's start page with no settings. */
  async function open(): Promise<WatchedPage> {
    const watched = await takePage(service.url);
    await empty(watched.page);
    await openConsole(watched.page);
    return watched;
  }

  it("selects the App of a valid key, to which new conversations then belong", async () => {
    const { page } = await open();
    await enter(page, { key });
    await expect.poll(() => app(page).inputValue()).toBe("support");
    await say(page, "count to 3");
    await expectAnswer(page, /1 2 3/);
    await expectApp(page, "support");
  });

  it("uses the default App when it is selected, also with a selected model", async () => {
    const { page } = await open();
    await enter(page, { key });
    await app(page).selectOption("default");
    await model(page).selectOption(SCRIPTED);
    await say(page, "Hello");
    (await service.model.next()).say("Of the default App.").finish();
    await expectAnswer(page, /Of the default App\./);
    await expectApp(page, "default");
  });

  it("leaves no session behind after a key was saved and an App selected", async () => {
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
    // The list requests, and the deletions of the sessions that they created.
    await expect
      .poll(() => done.toSorted())
      .toEqual([...Array<string>(4).fill("DELETE"), ...Array<string>(4).fill("GET")]);
    expect(await sessions()).toEqual(before);
  });

  it("names the tool sources of the selected App that cannot be used, before a first message", async () => {
    const { page } = await open();
    const missing = page.getByRole("status").filter({ hasText: "Some tools are missing." });
    await enter(page, { key });
    await expectSeen(missing);
    expect(await missing.getByRole("listitem").allInnerTexts()).toEqual([
      "mcp weather: Their server cannot be reached at the moment.",
      "openapi pets: The description of their service cannot be read at the moment.",
    ]);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await app(page).selectOption("default");
    await expectGone(missing);
  });

  it("resets a selected model with its App", async () => {
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

  it("allows another App after a first message that was not sent, even if its model was set", async () => {
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

  it("keeps an open conversation's App when settings change, and applies them to the next one", async () => {
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
