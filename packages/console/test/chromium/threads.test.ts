// The list of conversations: long lists, pins and deletion. Loading a page leaves no session behind.

import { createAdminClient } from "@colloquy/client/admin";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { expectGone, expectSeen, openConsole, threads } from "./console-page.ts";
import { ADMIN_KEY, prepareConsole, serveConsole } from "./console-service.ts";
import { serveSeveralApps } from "./several-apps.ts";

const ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const isLeftOut = await isWithoutChromium();

let stop: () => Promise<void>;

beforeAll(async () => {
  if (!isLeftOut) await prepareConsole();
});

describe.skipIf(isLeftOut)("conversations", () => {
  afterEach(() => stop());
  const openPage = useChromium();

  async function open(url: string, settings: object) {
    const opened = await openPage(url);
    const { page } = opened;
    await page.addInitScript((settings) => {
      const { sessionStorage } = globalThis as unknown as { readonly sessionStorage: Storage };
      sessionStorage.setItem("colloquy.settings", settings);
    }, JSON.stringify(settings));
    await openConsole(page);
    return opened;
  }

  it("are searched beyond the loaded pages of a wallet's list", async () => {
    const service = await serveConsole();
    stop = service.stop;
    for (let number = 0; number < 120; number += 1) {
      const title = number === 0 ? "Needle" : `Hay ${number}`;
      const answered = service.direct.sendMessage(crypto.randomUUID(), title, {
        publicKey: ACCOUNT,
        wait: true,
      });
      (await service.model.next()).say("Yes.").finish();
      await answered;
    }
    const { page } = await open(service.url, { wallet: ACCOUNT });
    await expectSeen(threads(page).getByRole("link", { name: "Hay 119" }));
    expect(await threads(page).getByRole("link", { name: "Needle" }).count()).toBe(0);
    const search = page.getByRole("searchbox", { name: "Search conversations" });
    await search.fill("needle");
    await expectSeen(threads(page).getByRole("link", { name: "Needle" }));
    await search.fill("nowhere");
    await expectSeen(page.getByText("No conversation has that in its title."));
    await expectGone(page.getByRole("button", { name: "Show older ones" }));
  });

  it.each([
    ["a desk", { width: 1280, height: 800 }],
    ["a phone", { width: 390, height: 844 }],
  ])("are pinned and unpinned with the keyboard, at the width of %s", async (name, size) => {
    const service = await serveConsole();
    stop = service.stop;
    for (const title of ["Oldest", "Older", "Newest"]) {
      const id = crypto.randomUUID();
      await service.direct.createSession(id, { publicKey: ACCOUNT });
      await service.direct.renameThread(id, title);
    }
    const { page, expectTrouble } = await open(service.url, { wallet: ACCOUNT });
    await page.setViewportSize(size);
    if (name === "a phone") await page.getByRole("button", { name: "Menu", exact: true }).click();
    const titles = () => page.getByRole("listitem").getByRole("link").allInnerTexts();
    await expect.poll(titles).toEqual(["Newest", "Older", "Oldest"]);
    const menu = page.getByRole("button", { name: "Menu of Oldest" });
    const choose = async (item: string) => {
      await menu.focus();
      await page.keyboard.press("Enter");
      await expectSeen(page.getByRole("menuitem", { name: item, exact: true }));
      // The menu takes the focus a moment after it is shown.
      const first = page.getByRole("menuitem").first();
      await expect.poll(() => first.evaluate((one) => one === document.activeElement)).toBe(true);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
    };
    const answered = page.waitForResponse("**/pin");
    await choose("Pin");
    const pinned = page.getByRole("region", { name: "Pinned" });
    await expectSeen(pinned.getByRole("link", { name: "Oldest" }));
    expect(await titles()).toEqual(["Oldest", "Newest", "Older"]);
    const isFocused = () => menu.evaluate((button) => button === button.ownerDocument.activeElement);
    await expect.poll(isFocused).toBe(true);
    await (await answered).finished();
    expect((await service.direct.listThreads(ACCOUNT)).threads[0]).toMatchObject({
      title: "Oldest",
      pinned: true,
    });

    expectTrouble(/403/);
    let refused = 0;
    await page.route("**/pin", (route) => {
      refused += 1;
      return route.fulfill({ status: 403, json: { code: "app_forbidden", detail: "Not you.", status: 403 } });
    });
    const busy = () => menu.getAttribute("aria-busy");
    await expect.poll(busy).toBe("false");
    await choose("Unpin");
    await expectSeen(page.getByRole("alert").getByText("“Oldest” was not unpinned. Not you."));
    await expect.poll(busy).toBe("false");
    expect(refused).toBe(1);
    expect(await titles()).toEqual(["Oldest", "Newest", "Older"]);
    expect(await isFocused()).toBe(true);

    await page.unroute("**/pin");
    await choose("Unpin");
    await expectGone(pinned);
    await expectGone(page.getByRole("alert"));
    expect(await titles()).toEqual(["Newest", "Older", "Oldest"]);
    const isPinned = async () =>
      (await service.direct.listThreads(ACCOUNT)).threads.some(({ pinned }) => pinned);
    await expect.poll(isPinned).toBe(false);
  });

  it("are deleted on a phone in a dialog with padding around its text", async () => {
    const service = await serveConsole();
    stop = service.stop;
    const id = crypto.randomUUID();
    await service.direct.createSession(id, { publicKey: ACCOUNT });
    await service.direct.renameThread(id, "Tea");
    const { page } = await open(service.url, { wallet: ACCOUNT });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.getByRole("button", { name: "Menu of Tea" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this conversation?" });
    const text = dialog.getByText("is deleted with all its messages");
    const edges = await Promise.all([dialog, text].map((part) => part.boundingBox()));
    expect(edges[1]!.x - edges[0]!.x).toBeGreaterThan(10);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expectGone(threads(page).getByRole("link", { name: "Tea" }));
  });

  it.each(["without a key", "with a key"])("are not left behind by loading the page %s", async (name) => {
    const service = await serveSeveralApps();
    stop = service.stop;
    const admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
    const hasKey = name === "with a key";
    const settings = hasKey ? { key: (await admin.createKey({ apps: ["support"] })).key } : {};
    const { page } = await open(service.url, settings);
    await page.waitForLoadState("networkidle");
    await expect.poll(async () => (await admin.listSessions()).sessions).toEqual([]);
    const picker = page.getByRole("combobox", { name: "App" });
    if (hasKey) {
      await picker.hover();
      await expect.poll(() => picker.getByRole("option").allInnerTexts()).toEqual(["default", "support"]);
    } else await expectGone(picker);
  });
});
