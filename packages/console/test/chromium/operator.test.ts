// The operators' area.

import { createClient } from "@colloquy/client";
import { createAdminClient } from "@colloquy/client/admin";
import { randomUUID } from "node:crypto";
import { buffer } from "node:stream/consumers";
import type { Locator, Page, Request } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { setVisibility } from "../../../../test/browser/visibility.ts";
import { expectGone, expectSeen } from "./console-page.ts";
import { ADMIN_KEY, SCRIPTED } from "./console-service.ts";
import { serveSeveralApps } from "./several-apps.ts";
import { enterKey, useOperator } from "./use-operator.ts";

const isLeftOut = await isWithoutChromium();

describe.skipIf(isLeftOut)("the operators' area", () => {
  const operator = useOperator();
  const { open, openPage } = operator;

  const rows = (page: Page, table: string | RegExp): Locator =>
    page.getByRole("table", { name: table }).locator("tbody").getByRole("row");
  const dialog = (page: Page, name: string): Locator => page.getByRole("dialog", { name });

  it("asks for the key, again if it is wrong, and stores it in the tab only", async () => {
    const { page, expectTrouble } = await openPage(operator.service.url);
    expectTrouble(/^console: Failed to load resource.* 401/);
    await page.goto("/#/operate/overview");
    await page.getByLabel("Admin key").fill("not the key of anybody");
    await page.getByRole("button", { name: "Open" }).click();
    await expectSeen(page.getByText("The service does not accept this key."));
    const kept = () => page.evaluate(() => JSON.stringify((globalThis as unknown as Stored).sessionStorage));
    expect(await kept()).not.toContain("not the key of anybody");

    await page.getByLabel("Admin key").fill(ADMIN_KEY);
    await page.keyboard.press("Enter");
    await expectSeen(page.getByRole("heading", { name: "Overview" }));
    expect(await kept()).toContain(ADMIN_KEY);
    expect(page.url()).not.toContain(ADMIN_KEY);
    await page.reload();
    await expectSeen(page.getByRole("heading", { name: "Overview" }));
    await page.getByRole("button", { name: "Forget the admin key" }).click();
    await expectSeen(page.getByLabel("Admin key"));
    expect(await kept()).not.toContain(ADMIN_KEY);
  });

  it("lists feedback with filters and pages, and downloads all of it as CSV", async () => {
    const { service } = operator;
    const ids = Array.from({ length: 3 }, () => randomUUID());
    for (const [at, id] of ids.entries()) {
      await service.client.sendMessage(id, "hello", { wait: true });
      const [, answer] = (await service.client.getState(id)).messages;
      const opinion =
        at === 1 ? ({ score: 1 } as const) : ({ score: -1, comment: `Wrong ${at}`, tags: ["x"] } as const);
      await service.client.giveFeedback(id, answer!.id, opinion);
    }
    const { page, expectTrouble } = await operator.openKeyed();
    expectTrouble(/^download: /);
    await page.goto("/#/operate/feedback");
    const entries = rows(page, "Feedback");
    await expect
      .poll(() => entries.allInnerTexts())
      .toEqual([
        expect.stringMatching(/^Bad\s+Wrong 2\s+x\s+default\s+\S+…, turn 1/),
        expect.stringMatching(/^Good\s+–\s+–\s+default/),
        expect.stringMatching(/^Bad\s+Wrong 0\s+x\s+default/),
      ]);
    await page.getByLabel("Score").selectOption("Bad");
    await expect.poll(() => entries.count()).toBe(2);
    // The service has one entry in each page for this download.
    await page.route("**/api/admin/feedback?*format=csv*", (route) =>
      route.continue({ url: route.request().url().replace("limit=1000", "limit=1") }),
    );
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("feedback.csv");
    const bytes = await buffer(await download.createReadStream());
    // Excel reads the file as UTF-8 only with the byte order mark.
    expect(bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    const lines = bytes.subarray(3).toString().trim().split("\r\n");
    expect(lines).toEqual([
      expect.stringContaining("created_at,app,session_id"),
      expect.stringContaining(`${ids[2]}`),
      expect.stringContaining(`${ids[0]}`),
    ]);
    await page.getByLabel("App", { exact: true }).selectOption("trips");
    await expectSeen(page.getByText("There is no such feedback."));
    await page.getByLabel("App", { exact: true }).selectOption("All");
    await entries.first().getByRole("link").click();
    await page.waitForURL(new RegExp(`sessions/${ids[2]}$`));
  });

  it("explains how to enable the area if the service has none", async () => {
    const closed = await serveSeveralApps({ hasAdministration: false });
    const { page, expectTrouble } = await openPage(closed.url);
    expectTrouble(/^console: Failed to load resource.* 404/);
    await page.goto("/#/operate/overview");
    await page.getByLabel("Admin key").fill(ADMIN_KEY);
    await page.keyboard.press("Enter");
    await expectSeen(page.getByRole("alert").getByText("COLLOQUY_ADMIN_KEY"));
    await page.goto("about:blank");
    await closed.stop();
  });

  it("shows the overview, refreshed every five seconds while visible", async () => {
    const { page } = await openPage(operator.service.url);
    await page.clock.install();
    await enterKey(page);
    let asked = 0;
    let answered = 0;
    const isOverview = (request: Request): boolean => request.url().endsWith("/api/admin/overview");
    page.on("request", (request) => void (asked += Number(isOverview(request))));
    page.on("requestfinished", (request) => void (answered += Number(isOverview(request))));
    page.on("requestfailed", (request) => void (answered += Number(isOverview(request))));
    await page.goto("/#/operate");
    await expectSeen(page.getByText("SQLite"));
    const value = (name: string): Locator => page.locator("dl > div").filter({ hasText: name }).locator("dd");
    expect(await value("Turns running").first().innerText()).toBe("0");

    const id = randomUUID();
    await operator.service.client.setModel(id, SCRIPTED);
    await operator.service.client.sendMessage(id, "Work for a while");
    const call = await operator.service.model.next();
    await expect
      .poll(async () => {
        await page.clock.runFor(5_000);
        return value("Turns running").first().innerText();
      })
      .toBe("1");
    /** Waits until all requests so far are answered, so that advancing the clock does not repeat them. */
    const settle = async (): Promise<void> => {
      await page.evaluate(() => fetch("/api/control/models").then((answer) => answer.text()));
      await expect.poll(() => asked - answered).toBe(0);
    };
    await setVisibility(page, "hidden");
    await settle();
    const before = asked;
    await page.clock.runFor(60_000);
    await settle();
    expect(asked).toBe(before);
    call.finish();
    await setVisibility(page, "visible");
    await expect.poll(() => asked).toBeGreaterThan(before);
  });

  it("finds sessions, shows their problems, and stops running turns", async () => {
    const failed = randomUUID();
    await operator.service.client.setModel(failed, SCRIPTED);
    await operator.service.client.sendMessage(failed, "Fail, please");
    (await operator.service.model.next()).finish("content-filter");
    await expect.poll(async () => (await operator.service.client.getState(failed)).is_processing).toBe(false);
    const running = randomUUID();
    await operator.service.client.setModel(running, SCRIPTED);
    await operator.service.client.sendMessage(running, "Never end");
    await operator.service.model.next();
    await operator.service.client.renameThread(running, "The one that runs");
    await operator.service.client.renameThread(failed, "The one that failed");
    await operator.service.client.sendMessage(randomUUID(), "Good day", { wait: true });

    const page = await open("sessions");
    await expect.poll(() => rows(page, "Sessions").count()).toBe(3);
    await page.getByLabel("Status").selectOption("failed");
    await expect
      .poll(() => rows(page, "Sessions").allInnerTexts())
      .toEqual([expect.stringMatching(/The one that failed[^]*failed[^]*model_refused/)]);
    await page.getByLabel("Status").selectOption("");
    await page.getByRole("searchbox", { name: /^Title, session id/ }).fill("one that RUNS");
    await page.keyboard.press("Enter");
    await expect.poll(() => rows(page, "Sessions").count()).toBe(1);
    await page.getByRole("link", { name: "The one that runs" }).click();

    await expectSeen(page.getByRole("heading", { name: "The one that runs" }));
    const turns = rows(page, "Turns, newest first");
    await expect.poll(() => turns.allInnerTexts()).toEqual([expect.stringMatching(/^1\s+running/)]);
    await page.getByRole("button", { name: "Interrupt" }).click();
    await dialog(page, "Interrupt the answer?").getByRole("button", { name: "Interrupt" }).click();
    await expect.poll(() => turns.allInnerTexts()).toEqual([expect.stringMatching(/^1\s+interrupted/)]);
    expect((await operator.service.client.getState(running)).messages.at(-1)?.status).toBe("interrupted");
    expect(await page.getByRole("button", { name: "Interrupt" }).isDisabled()).toBe(true);
  });

  it("deletes a session only after confirmation", async () => {
    const id = randomUUID();
    await operator.service.client.sendMessage(id, "Good day", { wait: true });
    const page = await open(`sessions/${id}`);
    await page.getByRole("button", { name: "Delete" }).click();
    await expectSeen(dialog(page, "Delete the session?"));
    await page.keyboard.press("Escape");
    await expectGone(dialog(page, "Delete the session?"));
    await expect.poll(() => focused(page)).toBe("Delete");
    expect((await operator.service.client.getSession(id)).session_id).toBe(id);
    await page.keyboard.press("Enter");
    await dialog(page, "Delete the session?").getByRole("button", { name: "Delete permanently" }).click();
    await expectSeen(page.getByText("There is no such session."));
    await expect(operator.service.client.getSession(id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  it("shows one more page of sessions per answer, however often the button is pressed", async () => {
    const create = () => operator.service.client.createSession(randomUUID());
    await Promise.all(Array.from({ length: 101 }, create));
    const page = await open("sessions");
    await expect.poll(() => rows(page, "Sessions").count()).toBe(50);
    const older = page.getByRole("button", { name: "Older" });
    await expect.poll(() => older.isEnabled()).toBe(true);
    const released = Promise.withResolvers<void>();
    await page.route("**/api/admin/sessions*", async (route) => {
      await released.promise;
      await route.continue();
    });
    await older.click();
    await expectSeen(page.getByText("Page 2"));
    expect(await older.isDisabled()).toBe(true);
    released.resolve();
    await expect.poll(() => older.isEnabled()).toBe(true);
    await older.click();
    await expect.poll(() => rows(page, "Sessions").count()).toBe(1);
    await expectSeen(page.getByText("Page 3"));
    expect(await older.isDisabled()).toBe(true);
    const newer = page.getByRole("button", { name: "Newer" });
    await newer.click();
    await expect.poll(() => rows(page, "Sessions").count()).toBe(50);
    await expectSeen(page.getByText("Page 2"));
    await newer.click();
    await expectSeen(page.getByText("Page 1"));
    await expect.poll(() => rows(page, "Sessions").count()).toBe(50);
    expect(await newer.isDisabled()).toBe(true);
  });

  it("explains why no App can be selected if listing them fails", async () => {
    const { page, expectTrouble } = await openPage(operator.service.url);
    expectTrouble(/500/);
    await page.route("**/api/admin/apps*", (route) => route.fulfill({ status: 500, body: "{}" }));
    await page.goto("/#/operate/keys");
    await page.getByLabel("Admin key").fill(ADMIN_KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Create a key" }).click();
    const told = "The Apps cannot be listed. The service answered with status 500.";
    await expectSeen(dialog(page, "Create a key").getByText(told));
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Sessions" }).click();
    await expectSeen(page.getByRole("search").getByText(told));
  });

  it("creates a key that is shown once, rotates and revokes it", async () => {
    const page = await open("keys");
    await expectSeen(page.getByText("There are no keys yet."));
    await page.getByRole("button", { name: "Create a key" }).click();
    const create = dialog(page, "Create a key");
    await create.getByRole("button", { name: "Create" }).click();
    await expectSeen(create.getByText("Choose the Apps that the key opens.", { exact: true }));
    expect(await create.getByRole("checkbox", { name: "default" }).count()).toBe(0);
    await create.getByRole("checkbox", { name: "support" }).check();
    await create.getByLabel("Name, to recognize it").fill("web shop");
    await create.getByRole("button", { name: "Create" }).click();
    const first = await shownKey(page);
    await talk(first);
    expect(await page.content()).not.toContain(first);
    await expect
      .poll(() => rows(page, "Keys, newest first").allInnerTexts())
      .toEqual([expect.stringMatching(/^web shop[^]*support[^]*good/)]);

    await page.getByRole("button", { name: "Rotate “web shop”" }).click();
    const rotate = dialog(page, "Rotate the key?");
    await rotate.getByLabel("The old key expires").selectOption("At once");
    await rotate.getByRole("button", { name: "Rotate" }).click();
    const second = await shownKey(page);
    await talk(second);
    await expectEnded(first);

    await page.getByRole("button", { name: "Revoke “web shop”" }).click();
    await dialog(page, "Revoke the key?").getByRole("button", { name: "Revoke" }).click();
    await expectGone(dialog(page, "Revoke the key?"));
    await expectEnded(second);
    await expect.poll(() => page.getByRole("button", { name: /^Revoke/ }).count()).toBe(0);
  });

  it("creates the key of an operator, which opens no App", async () => {
    const page = await open("keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    const create = dialog(page, "Create a key");
    for (const scope of ["chat", "read", "secrets"])
      await create.getByRole("checkbox", { name: new RegExp(`^${scope}:`) }).uncheck();
    await create.getByRole("button", { name: "Create" }).click();
    await expectSeen(create.getByText("Choose what the key may be used for.", { exact: true }));
    await create.getByRole("checkbox", { name: /^admin:read:/ }).check();
    await create.getByRole("button", { name: "Create" }).click();
    const reader = createAdminClient({ baseUrl: operator.service.url, key: await shownKey(page) });
    expect(await reader.listKeys()).toContainEqual(
      expect.objectContaining({ apps: [], scopes: ["admin:read"] }),
    );
    await expect(reader.revokeKey("any")).rejects.toMatchObject({ code: "scope_missing" });
  });

  /** Returns the key shown in the dialog and closes it. */
  async function shownKey(page: Page): Promise<string> {
    const shown = dialog(page, "The new key");
    const code = shown.getByLabel("The key", { exact: true });
    const key = await code.innerText();
    // Selecting the key and releasing the mouse outside does not close the dialog; neither does Escape.
    const at = (await code.boundingBox())!;
    await page.mouse.move(at.x + at.width - 3, at.y + 5);
    await page.mouse.down();
    await page.mouse.move(5, 5, { steps: 5 });
    await page.mouse.up();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    expect(await code.innerText()).toBe(key);
    await shown.getByRole("button", { name: "I have saved it" }).click();
    await expectGone(shown);
    return key.replaceAll(/\s/g, "");
  }

  /** Expects the service to refuse the key within five seconds. */
  async function expectEnded(key: string): Promise<void> {
    operator.pass(5_000);
    await expect(talk(key)).rejects.toMatchObject({ code: "app_key_invalid" });
  }

  async function talk(key: string): Promise<void> {
    const client = createClient({ baseUrl: operator.service.url, app: "support", key });
    await client.sendMessage(randomUUID(), "count to 3", { wait: true });
  }

  it("shows the Apps with their models and the state of their tools", async () => {
    await operator.service.client.sendMessage(randomUUID(), "what is 12 * 7", { wait: true });
    const page = await open("apps");
    await expectSeen(page.getByText("Answers questions of customers"));
    await expectSeen(rows(page, "Tools of default").filter({ hasText: /built-in tools\s*working\s*\d/ }));
  });

  it("shows usage as a chart, in words and as matching tables", async () => {
    const { key } = await operator.admin.createKey({ apps: ["support"] });
    await talk(key);
    for (let count = 0; count < 3; count += 1)
      await operator.service.client.sendMessage(randomUUID(), "count to 3", { wait: true });
    const page = await open("usage");
    const chart = page.getByRole("img", {
      name: /^Messages by App\. Last 24 hours: 8 in all, at most 8 in the hour/,
    });
    await expectSeen(chart);
    await expectSeen(chart.locator("canvas"));
    expect(await rows(page, "In all, by App and model").allInnerTexts()).toEqual([
      expect.stringMatching(/^default\s+demo\/assistant\s+6\s+3\s+0\s+/),
      expect.stringMatching(/^support\s+demo\/assistant\s+2\s+1\s+0\s+/),
    ]);
    await page.getByText("The same as a table").click();
    expect(await rows(page, /^Messages by App/).allInnerTexts()).toEqual([expect.stringMatching(/\s6\s+2$/)]);

    await page.getByLabel("Show", { exact: true }).selectOption("Turns");
    await page.getByLabel("Lines for each").selectOption("Model");
    await page.getByLabel("Time", { exact: true }).selectOption("Last 30 days");
    await page.getByLabel("By", { exact: true }).selectOption("Day");
    await expectSeen(
      page.getByRole("img", { name: /^Turns by model\. Last 30 days: 4 in all, at most 4 in the day of/ }),
    );
    await chart
      .or(page.getByRole("img", { name: /^Turns by model/ }))
      .locator(".u-over")
      .hover();
    await expectSeen(page.locator("figure li").filter({ hasText: "demo/assistant" }).locator("strong"));
  });

  it("shows the table with a note, and the other views, if the chart's file is missing", async () => {
    const { key } = await operator.admin.createKey({ apps: ["support"] });
    await talk(key);
    const { page, expectTrouble } = await operator.openKeyed();
    expectTrouble(/404/);
    expectTrouble(/PartNotLoaded/);
    await page.route(/assets\/line-chart/, (route) => route.fulfill({ status: 404 }));
    await page.goto("/#/operate/usage");
    await expectSeen(page.getByRole("heading", { name: "This part could not be loaded." }));
    expect(await rows(page, "In all, by App and model").count()).toBe(1);
    await page.getByRole("link", { name: "Keys" }).click();
    await expectSeen(page.getByRole("button", { name: "Create a key" }));
  });

  it("shows durations of turns", async () => {
    await operator.service.client.sendMessage(randomUUID(), "count to 3", { wait: true });
    const page = await open("latency");
    await expectSeen(page.getByText(/Last 24 hours: 1 turn; the highest p99 was [\d.]+ m?s/));
    await page.getByLabel("Time", { exact: true }).selectOption("Last hour");
    await expectSeen(page.getByText(/Last hour: 1 turn; the highest p99 was .* in the minute of/));
    // A single turn is one point and no line; its numbers are in the table.
    await expectSeen(page.getByText("As a table: there is too little for a chart"));
    await expect.poll(() => page.locator("figure tbody tr").count()).toBe(1);
    await page.getByLabel("Show", { exact: true }).selectOption("Waiting for a slot");
    await expectSeen(page.getByRole("heading", { name: /^Waiting for a slot/ }));
  });

  it("reports that an empty report has nothing to show", async () => {
    const page = await open("usage");
    await expectSeen(page.getByText("No turn ended in this time.").first());
    await page.getByRole("link", { name: "Latency" }).click();
    // The usage page says it twice.
    await expectSeen(page.getByRole("heading", { name: "Latency" }));
    await expectSeen(page.getByText("No turn ended in this time."));
    await page.getByRole("link", { name: "Sessions" }).click();
    await expectSeen(page.getByText("There is no such session."));
  });

  it("keeps the last result while the service is down, and reports that", async () => {
    const { page, expectTrouble } = await operator.openKeyed();
    expectTrouble(/^console: Failed to load resource: net::ERR_/);
    await page.goto("/#/operate/apps");
    await expectSeen(page.getByText("Answers questions of customers"));
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Load again" }).click();
    await expectSeen(
      page.getByRole("alert").getByText("The service cannot be reached. Showing the last result."),
    );
    await expectSeen(page.getByText("Answers questions of customers"));
    await page.context().setOffline(false);
    await page.getByRole("button", { name: "Load again" }).click();
    await expectGone(page.getByText("The service cannot be reached."));
  });
});

/** Returns the accessible name of the focused element. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => (globalThis as unknown as Measured).document.activeElement?.textContent ?? "");
}

interface Stored {
  readonly sessionStorage: object;
}
interface Measured {
  readonly document: {
    readonly activeElement: { readonly textContent: string | null } | null;
  };
}
