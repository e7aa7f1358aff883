// The developer panel beside the chat.

import { createEventStreamParser, type Frame } from "@colloquy/client";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { isWithout } from "../../../server/test/programs.ts";
import { composer } from "./console-page.ts";
import { prepareConsole, SCRIPTED } from "./console-service.ts";
import { serveSeveralApps, type SeveralApps } from "./several-apps.ts";

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

const withoutCurl = await isWithout("curl");

describe.skipIf(await isWithoutChromium())("the developer's panel", () => {
  const openPage = useChromium();
  let service: SeveralApps;
  let id: string;

  beforeAll(async () => {
    await prepareConsole();
    service = await serveSeveralApps();
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    id = randomUUID();
    await service.client.sendMessage(id, "what is 12 * 7", { wait: true });
  });

  async function openPanel(options: { viewport?: typeof DESK } = {}): Promise<Page> {
    const { page } = await openPage(service.url, { viewport: DESK, ...options });
    await page.goto(`/#/chat/${id}`);
    await page.getByRole("button", { name: "Developer panel" }).click();
    await page.getByRole("tab", { name: "Events" }).waitFor();
    return page;
  }

  /** Opens another tab of the panel and returns its region. */
  async function view(page: Page, name: string): Promise<Locator> {
    await page.getByRole("tab", { name }).click();
    const region = page.getByRole("region", { name });
    await region.waitFor();
    return region;
  }

  const events = (page: Page): Locator => page.getByRole("region", { name: "Events" }).getByRole("listitem");

  /** Returns the ids and types of all stored events up to the id `last`, as another client reads them. */
  async function servedEvents(last: string): Promise<readonly string[]> {
    const response = await fetch(`${service.url}/api/updates?include=tools,messages,state`, {
      headers: { "X-Session-Id": id, Accept: "text/event-stream", "Last-Event-ID": "0" },
    });
    const frames: Frame[] = [];
    const parse = createEventStreamParser((frame) => void frames.push(frame));
    for await (const bytes of response.body!) {
      parse(bytes);
      if (frames.some((frame) => frame.id === last)) break;
    }
    return frames
      .filter(({ data }) => data !== null)
      .map(({ id, data }) => `${id} ${(JSON.parse(data!) as { type: string }).type}`);
  }

  /** Returns the listed events as `id type`, without deltas, which have no id. */
  const shownEvents = async (page: Page): Promise<readonly string[]> =>
    (await events(page).locator("summary").allInnerTexts())
      .map((text) => text.split("\n").filter(Boolean))
      // An event without a time shows none.
      .map((columns) => `${columns.at(-1)} ${columns[0]}`)
      .filter((text) => !text.endsWith(" message_delta"));

  it("shows every stored event under its id, and new events as they arrive", async () => {
    const page = await openPanel();
    const first = await servedEvents((await service.client.getState(id)).last_event_id);
    expect(first.length).toBeGreaterThan(5);
    await expect.poll(() => shownEvents(page)).toEqual(first);
    await service.client.renameThread(id, "Renamed while one looks");
    const { last_event_id } = await service.client.getState(id);
    const later = await servedEvents(last_event_id);
    expect(later.length).toBe(first.length + 1);
    await expect.poll(() => shownEvents(page)).toEqual(later);
    await events(page).last().locator("summary").click();
    await page.getByText('"Renamed while one looks"').waitFor();
  });

  it("shows streaming text without an id", async () => {
    await service.client.setModel(id, SCRIPTED);
    await service.client.sendMessage(id, "Say something");
    const call = await service.model.next();
    const page = await openPanel();
    // A new stream starts with the full text of the streaming message.
    const whole = events(page).filter({ hasText: "message_updated" }).last();
    await expect.poll(() => whole.innerText()).toContain("no id");
    call.say("Slowly");
    // A title event may follow.
    const delta = events(page).filter({ hasText: "message_delta" }).last();
    await expect.poll(() => delta.innerText()).toContain("no id");
    call.finish();
    await expect.poll(async () => (await service.client.getState(id)).is_processing).toBe(false);
  });

  it("filters, pauses, copies and clears the events", async () => {
    const page = await openPanel();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const { last_event_id } = await service.client.getState(id);
    const all = await servedEvents(last_event_id);
    await expect.poll(() => shownEvents(page)).toEqual(all);

    await page.getByRole("checkbox", { name: "messages" }).uncheck();
    await page.getByRole("checkbox", { name: "state" }).uncheck();
    const tools = all.filter((text) => text.includes(" tool_"));
    expect(tools).toHaveLength(2);
    await expect.poll(() => shownEvents(page)).toEqual(tools);
    await page.getByRole("button", { name: "Copy the events" }).click();
    const copied = await page.evaluate(() =>
      (globalThis as unknown as Copied).navigator.clipboard.readText(),
    );
    expect(copied.match(/^id: /gm)).toHaveLength(2);
    expect(copied).toContain('"type":"tool_complete"');
    await page.getByRole("checkbox", { name: "messages" }).check();
    await page.getByRole("checkbox", { name: "state" }).check();

    await page.getByRole("button", { name: "Pause" }).click();
    await service.client.renameThread(id, "While it stands");
    await page.getByText("Paused: 1 more by now.").waitFor();
    expect(await shownEvents(page)).toEqual(all);
    await page.getByRole("button", { name: "Go on" }).click();
    await expect.poll(async () => (await shownEvents(page)).length).toBe(all.length + 1);

    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("No events yet.").waitFor();
    await service.client.renameThread(id, "After it was cleared");
    await expect.poll(() => shownEvents(page)).toEqual([expect.stringMatching(/ title_changed$/)]);
  });

  it("marks the latest changes in the snapshot", async () => {
    const page = await openPanel();
    const snapshot = await view(page, "Snapshot");
    await snapshot.getByText("is_processing").waitFor();
    expect(await snapshot.getByText("changed").count()).toBe(0);
    await service.client.renameThread(id, "Another title");
    const title = snapshot.getByRole("listitem").filter({ hasText: 'title: "Another title"' });
    await title.getByText("changed").waitFor();
    const marked = snapshot.getByRole("listitem").filter({ has: page.getByText("changed") });
    expect(await marked.allInnerTexts()).toEqual([
      expect.stringContaining("title:"),
      expect.stringContaining("last_event_id:"),
    ]);
    await snapshot.getByText("messages:").click();
    await snapshot.getByText("1: ", { exact: true }).click();
    await snapshot.getByText('"12 * 7 = 84."').waitFor();
  });

  it("shows the stored messages page by page", async () => {
    for (let count = 1; count <= 26; count += 1)
      await service.client.sendMessage(id, `count to ${count % 3}`, { wait: true });
    const kept = await service.client.listMessages(id);
    expect(kept).toHaveLength(54);
    const page = await openPanel();
    const records = await view(page, "Records");
    const lines = records.getByRole("listitem");
    await expect.poll(() => lines.count()).toBe(50);
    await page.getByText("50 records, and there are more").waitFor();
    await records.getByRole("button", { name: "Load more" }).click();
    await page.getByText("54 records", { exact: true }).waitFor();
    await lines.last().locator("summary").click();
    await records.getByText(`"${kept.at(-1)!.id}"`).waitFor();
    await service.client.sendMessage(id, "count to 2", { wait: true });
    await page.getByRole("button", { name: "Load again" }).click();
    await page.getByText("50 records, and there are more").waitFor();
  });

  it.skipIf(withoutCurl)("gives each request as a shell command that repeats it", async () => {
    const page = await openPanel();
    const said = `it's "odd" $HOME \`id\` \\ !! 日本`;
    await composer(page).fill(said);
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await service.client.getState(id)).messages.length).toBe(4);
    const requests = await view(page, "Requests");
    const chat = requests.getByRole("listitem").filter({ hasText: "/api/chat" });
    await chat.locator("summary").click();
    const command = await chat.locator("pre").innerText();
    // The command has the same idempotency key, so the service returns the stored message.
    const { stdout } = await promisify(execFile)("sh", ["-c", command]);
    const answer = JSON.parse(stdout) as { messages: { content: string }[] };
    expect(answer.messages.map(({ content }) => content)).toContain(said);
    expect(answer.messages).toHaveLength(4);
    const requestId = await chat.getByRole("definition").first().innerText();
    expect(requestId).toMatch(/^[\w.-]{5,}$/);
    await chat.getByText(/^200 · [\d.]+ ms$/).waitFor();
  });

  it("shows no key in any command", async () => {
    const { page, expectTrouble } = await openPage(service.url, { viewport: DESK });
    // The service refuses the key, for the list of Apps.
    expectTrouble(/401/);
    await page.goto("/");
    const settings = { key: "clq_a-key-that-nobody-may-see", app: null };
    await page.evaluate((text) => {
      (globalThis as unknown as Stored).sessionStorage.setItem("colloquy.settings", text);
    }, JSON.stringify(settings));
    await page.goto(`/#/chat/${id}`);
    await page.reload();
    await page.getByRole("button", { name: "Developer panel" }).click();
    const requests = await view(page, "Requests");
    const first = requests.getByRole("listitem").filter({ hasText: "/api/state" }).last();
    await first.locator("summary").click();
    expect(await first.locator("pre").innerText()).toContain('-H "SERVICE-APP-KEY: $COLLOQUY_APP_KEY"');
    expect(await page.content()).not.toContain(settings.key);
  });

  it("can be used by keyboard alone", async () => {
    const page = await openPanel();
    await page.getByRole("tab", { name: "Events" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => focused(page)).toBe("Records");
    await page.getByRole("region", { name: "Records" }).getByRole("listitem").first().waitFor();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => focused(page)).toBe("Requests");
    expect(await page.getByRole("tab", { selected: true }).innerText()).toBe("Requests");
    await page.keyboard.press("Tab");
    await expect.poll(() => focused(page)).toBe("Clear");
    await page.keyboard.press("Tab");
    await expect.poll(() => focused(page)).toBe("Requests");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Copy the command" }).waitFor();
  });

  it.each([
    ["desk", DESK],
    ["phone", PHONE],
  ] as const)("passes axe in light and dark (%s)", async (_name, viewport) => {
    const page = await openPanel({ viewport });
    await events(page).first().locator("summary").click();
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await view(page, "Snapshot");
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    for (const name of ["Records", "Requests"]) {
      const region = await view(page, name);
      await region.locator("summary").first().click();
      expect(await findViolationsInBothSchemes(page)).toEqual([]);
    }
  });
});

/** Returns the accessible name of the focused element. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement } = (globalThis as unknown as Focusing).document;
    return activeElement?.getAttribute("aria-label") ?? activeElement?.textContent ?? "";
  });
}

interface Copied {
  readonly navigator: { readonly clipboard: { readText(): Promise<string> } };
}
interface Stored {
  readonly sessionStorage: { setItem(name: string, value: string): void };
}
interface Focusing {
  readonly document: {
    readonly activeElement: { getAttribute(name: string): string | null; textContent: string | null } | null;
  };
}
