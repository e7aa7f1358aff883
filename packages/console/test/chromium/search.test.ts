// Message search in the list of conversations.

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { expectAnswer, expectIndexed, expectSeen, openConsole, say } from "./console-page.ts";
import { prepareConsole, serveConsole } from "./console-service.ts";

const isLeftOut = await isWithoutChromium();
const TURNS = 60;

let stop: () => Promise<void>;

beforeAll(async () => {
  if (!isLeftOut) await prepareConsole();
});

describe.skipIf(isLeftOut)("search", () => {
  afterEach(() => stop());
  const openPage = useChromium();

  it("finds words in messages of stored conversations, and opens one at the message", async () => {
    const service = await serveConsole();
    stop = service.stop;
    const [long, other] = [crypto.randomUUID(), crypto.randomUUID()];
    for (let turn = 0; turn < TURNS; turn += 1) {
      const text = turn === 2 ? "Which bridge goes to Arbitrum?" : `Question ${turn}`;
      const answered = service.direct.sendMessage(long, text, { wait: true });
      const answer =
        turn === 2 ? "The canonical bridge does, for a small toll. <b>Mind the fee.</b>" : "Yes.";
      (await service.model.next()).say(answer).finish();
      await answered;
    }
    const answered = service.direct.sendMessage(other, "A toll for nobody else", { wait: true });
    (await service.model.next()).say("Sure.").finish();
    await answered;
    await expectIndexed(service.direct, long, "canonical tol");
    await expectIndexed(service.direct, other, "toll");
    const stored = [long, other].map((id, index) => ({
      session_id: id,
      title: `Conversation ${index + 1}`,
      updated_at: new Date().toISOString(),
    }));
    const { page } = await openPage(service.url);
    await page.addInitScript((list) => {
      const { localStorage } = globalThis as unknown as { readonly localStorage: Storage };
      localStorage.setItem("colloquy.threads", list);
    }, JSON.stringify(stored));
    await openConsole(page);
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("canonical tol");
    const found = page.getByRole("region", { name: "Messages" });
    await expectSeen(found.getByRole("link", { name: /canonical bridge does, for a small toll/ }));
    expect(await found.getByRole("listitem").count()).toBe(1);
    expect(await found.locator("mark").allInnerTexts()).toEqual(["canonical", "toll"]);
    await found.getByRole("link").click();
    const message = page.getByRole("article").filter({ hasText: "The canonical bridge does" });
    await expect.poll(() => message.evaluate((element) => element === document.activeElement)).toBe(true);
    const isShown = () =>
      message.evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top >= 0 && bottom <= window.innerHeight;
      });
    await expect.poll(isShown).toBe(true);
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("toll");
    await expect.poll(() => found.getByRole("listitem").count()).toBe(2);
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("nowhere");
    await expectSeen(found.getByText("No message matches."));
  });

  it("finds a message that is indexed after the first request", async () => {
    const service = await serveConsole();
    stop = service.stop;
    const id = crypto.randomUUID();
    const { page } = await openPage(service.url);
    await openConsole(page, id);
    const found = page.getByRole("region", { name: "Messages" });
    // The service answers as it does before it has indexed the message.
    let isFirst = true;
    await page.route("**/api/search?*", async (route) => {
      if (!isFirst) return route.continue();
      isFirst = false;
      await route.fulfill({ json: { results: [], next_cursor: null } });
    });
    await say(page, "A xylophone, please");
    (await service.model.next()).say("Here it is.").finish();
    await expectAnswer(page, "Here it is.");
    await expectIndexed(service.direct, id, "xylophone");
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("xylophone");
    await expectSeen(found.getByText("No message matches."));
    await expectSeen(found.getByRole("link", { name: /A xylophone, please/ }));
  });
});
