// Long lists of conversations, and that merely loading a page leaves no session behind.

import { createAdminClient } from "@colloquy/client/admin";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { expectGone, expectSeen, openConsole, threads } from "./console-page.ts";
import { ADMIN_KEY, prepareConsole, serveConsole } from "./console-service.ts";
import { serveSeveralApps } from "./several-apps.ts";

const ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const PATIENCE = { timeout: 20_000 };
const isLeftOut = await isWithoutChromium();

let stop: () => Promise<void>;

beforeAll(async () => {
  if (!isLeftOut) await prepareConsole();
}, 120_000);

describe.skipIf(isLeftOut)("conversations", { timeout: 60_000 }, () => {
  afterEach(() => stop());
  const openPage = useChromium();

  async function open(url: string, settings: object) {
    const { page } = await openPage(url);
    await page.addInitScript((settings) => {
      const { sessionStorage } = globalThis as unknown as { readonly sessionStorage: Storage };
      sessionStorage.setItem("colloquy.settings", settings);
    }, JSON.stringify(settings));
    await openConsole(page);
    return page;
  }

  it("of a wallet are searched beyond the loaded pages of the list", async () => {
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
    const page = await open(service.url, { wallet: ACCOUNT });
    await expectSeen(threads(page).getByRole("link", { name: "Hay 119" }));
    expect(await threads(page).getByRole("link", { name: "Needle" }).count()).toBe(0);
    const search = page.getByRole("searchbox", { name: "Search conversations" });
    await search.fill("needle");
    await expectSeen(threads(page).getByRole("link", { name: "Needle" }));
    await search.fill("nowhere");
    await expectSeen(page.getByText("No conversation has that in its title."));
    await expectGone(page.getByRole("button", { name: "Show older ones" }));
  });

  it.each(["without a key", "with a key"])("are not created by loading the page %s", async (name) => {
    const service = await serveSeveralApps();
    stop = service.stop;
    const admin = createAdminClient({ baseUrl: service.url, key: ADMIN_KEY });
    const hasKey = name === "with a key";
    const settings = hasKey ? { key: (await admin.createKey({ apps: ["support"] })).key } : {};
    const page = await open(service.url, settings);
    await page.waitForLoadState("networkidle");
    expect((await admin.listSessions()).sessions).toEqual([]);
    const picker = page.getByRole("combobox", { name: "App" });
    if (hasKey) {
      await picker.hover();
      await expect
        .poll(() => picker.getByRole("option").allInnerTexts(), PATIENCE)
        .toEqual(["default", "support"]);
    } else await expectGone(picker);
  });
});
