// A conversation that the console loads in parts.

import type { Page, Response } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import {
  answers,
  composer,
  expectAnswer,
  expectGone,
  expectIndexed,
  expectSeen,
  openConsole,
  said,
  say,
} from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";

const TURNS = 200;
const FOUND = "Where is the bridge?";
const FOUND_ANSWER = "Over the river.";
/** Maximum items in a request. */
const PORTION = 20;
const isLeftOut = await isWithoutChromium();

let service: ConsoleService;
let id: string;

beforeAll(async () => {
  if (!isLeftOut) await prepareConsole();
});

/** Creates a conversation through the OpenAI API, which accepts many messages at once. */
async function addConversation(): Promise<string> {
  const session = crypto.randomUUID();
  const post = async (path: string, body: object, headers: object = {}): Promise<void> => {
    const answer = await fetch(`${service.url}/v1/conversations${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
  };
  await post("", {}, { "X-Conversation-Id": `conv_${session}` });
  const items = Array.from({ length: TURNS }, (_, turn) => [
    { type: "message", role: "user", content: turn === 7 ? FOUND : `Question ${turn}.` },
    {
      type: "message",
      role: "assistant",
      content: turn === 7 ? FOUND_ANSWER : `Answer ${turn}.\n\n${"It is a long one. ".repeat(turn % 9)}`,
    },
  ]).flat();
  for (let at = 0; at < items.length; at += PORTION)
    await post(`/conv_${session}/items`, { items: items.slice(at, at + PORTION) });
  await service.direct.renameThread(session, "A long conversation");
  return session;
}

describe.skipIf(isLeftOut)("a conversation of 400 messages", () => {
  beforeEach(async () => {
    service = await serveConsole();
    id = await addConversation();
  });
  afterEach(() => service.stop());
  const openPage = useChromium();

  async function open(): Promise<{ readonly page: Page; readonly read: readonly string[] }> {
    const { page } = await openPage(service.url);
    const read: string[] = [];
    page.on("response", (response: Response) => {
      const { pathname, search } = new URL(response.url());
      if (pathname === "/api/state") read.push(decodeURIComponent(search));
    });
    await openConsole(page, id);
    await expectAnswer(page, `Answer ${TURNS - 1}.`);
    return { page, read };
  }
  /** Opens the conversation at a search result. */
  async function openFound(words: string, text: string): Promise<Page> {
    await expectIndexed(service.direct, id, words);
    const { page } = await openPage(service.url);
    const entry = { session_id: id, title: "A long conversation", updated_at: new Date().toISOString() };
    await page.addInitScript(
      (list) => localStorage.setItem("colloquy.threads", list),
      JSON.stringify([entry]),
    );
    await openConsole(page);
    await page.getByRole("searchbox", { name: "Search conversations" }).fill(words);
    const found = page.getByRole("region", { name: "Messages" });
    await found.getByRole("link", { name: text }).click();
    return page;
  }
  const log = (page: Page) => page.getByRole("log");
  const question = (page: Page, turn: number) => said(page).getByText(`Question ${turn}.`, { exact: true });
  const earlier = (page: Page) => page.getByRole("button", { name: /earlier messages/ });
  /** Clicks without scrolling to the button: scrolling would also show earlier messages. */
  const press = (page: Page): Promise<void> => earlier(page).dispatchEvent("click");
  const shown = async (page: Page, count: number): Promise<void> => {
    await expect.poll(() => page.getByRole("article").count()).toBe(count);
  };
  const frames = (page: Page): Promise<void> =>
    page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn()))),
    );
  /** Waits until scrolling ends: the page scrolls to the newest message when it opens. */
  const atRest = async (page: Page): Promise<void> => {
    const place = () => log(page).evaluate((box) => box.scrollTop);
    await expect
      .poll(async () => {
        const before = await place();
        await frames(page);
        await frames(page);
        return (await place()) - before;
      })
      .toBe(0);
  };
  const expectAtEnd = async (page: Page): Promise<void> => {
    const left = () => log(page).evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);
    await expect.poll(left).toBeLessThan(2);
  };
  const topOf = (page: Page, turn: number): Promise<number> =>
    question(page, turn).evaluate((element) => element.getBoundingClientRect().top);

  it("loads the latest messages, and earlier ones as the user scrolls up", async () => {
    const { page, read } = await open();
    await shown(page, 50);
    expect(read).toEqual(["?messages=last:100"]);
    await expectSeen(earlier(page));
    expect(await earlier(page).innerText()).toBe("Show earlier messages (350)");
    for (let count = 100; count <= 250; count += 50) {
      await atRest(page);
      // Near the top, the page shows one more portion, even if the viewport scrolls on.
      await log(page).evaluate(async (box) => {
        box.scrollTo({ top: 100 });
        for (let count = 0; box.scrollTop < 200; count += 1) {
          await new Promise((resolve) => {
            const { port1, port2 } = new MessageChannel();
            port1.addEventListener("message", resolve);
            port1.start();
            port2.postMessage(null);
          });
          if (box.scrollTop < 200) box.scrollTo({ top: 101 - (count % 2) });
          box.dispatchEvent(new Event("scroll"));
        }
      });
      await shown(page, count);
      await frames(page);
      expect(await log(page).evaluate((box) => box.scrollTop)).toBeGreaterThan(300);
    }
    expect(new Set(read).size).toBe(3);
    expect(read.slice(1).every((search) => search.startsWith("?messages=last:100&before="))).toBe(true);
  });

  it("keeps the reading position, even if the user scrolls while messages are loading", async () => {
    const { page } = await open();
    await shown(page, 50);
    await atRest(page);
    const scrollUp = () => log(page).evaluate((box) => box.scrollTo({ top: 0 }));
    await scrollUp();
    await shown(page, 100);
    await atRest(page);
    const held = Promise.withResolvers<void>();
    await page.route(/before=/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await scrollUp();
    await expectSeen(page.getByRole("button", { name: "Loading earlier messages…" }));
    await log(page).evaluate((box) => box.scrollTo({ top: 90 }));
    await frames(page);
    const before = await topOf(page, TURNS - 49);
    held.resolve();
    await shown(page, 150);
    await frames(page);
    expect(Math.abs((await topOf(page, TURNS - 49)) - before)).toBeLessThan(2);
  });

  it("loads all earlier messages with the keyboard, and edits the first one", async () => {
    const { page } = await open();
    await shown(page, 50);
    const more = async (): Promise<number> => {
      if ((await earlier(page).count()) > 0) await earlier(page).press("Enter");
      await frames(page);
      return await page.getByRole("article").count();
    };
    await expect.poll(more).toBe(2 * TURNS);
    await expectGone(earlier(page));
    await question(page, 0).hover();
    await said(page).first().getByRole("button", { name: "Edit message" }).click();
    await page.getByRole("textbox", { name: "Edited message" }).fill("From the start.");
    await page.keyboard.press("Enter");
    (await service.model.next()).say("Once more.").finish();
    await expectAnswer(page, "Once more.");
    await shown(page, 2);
    expect((await service.direct.getState(id)).messages).toHaveLength(2);
  });

  it("opens at a message that is not loaded, and returns to the newest", async () => {
    const page = await openFound("bridge", FOUND);
    const message = said(page).filter({ hasText: FOUND });
    await expect.poll(() => message.evaluate((one) => one === document.activeElement)).toBe(true);
    const isInView = () =>
      message.evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top >= 0 && bottom <= window.innerHeight;
      });
    await expect.poll(isInView).toBe(true);
    // Some later messages are not rendered.
    await shown(page, 100);
    const again = page.getByRole("button", { name: "Answer again" });
    expect(await again.count()).toBe(0);
    const later = page.getByRole("button", { name: /^Show later messages/ });
    await later.click();
    await shown(page, 150);
    expect(await isInView()).toBe(false);
    await page.getByRole("button", { name: "Go to the newest message" }).click();
    await shown(page, 50);
    await expectSeen(question(page, TURNS - 1));
    await expect.poll(() => again.count()).toBe(1);
    await expect
      .poll(() =>
        question(page, TURNS - 1).evaluate(
          (element) => element.getBoundingClientRect().top < window.innerHeight,
        ),
      )
      .toBe(true);
    await composer(page).waitFor();
  });

  it("does not show an answer in progress below an earlier question", async () => {
    const page = await openFound("river", FOUND_ANSWER);
    await shown(page, 100);
    await expectSeen(page.getByRole("article").last().getByText("Question 52.", { exact: true }));
    const later = page.getByRole("button", { name: /^Show later messages/ });
    expect(await later.innerText()).toBe("Show later messages (295)");
    await service.direct.sendMessage(id, "More.");
    const call = await service.model.next();
    await expect.poll(() => later.innerText()).toBe("Show later messages (296)");
    await frames(page);
    await shown(page, 100);
    await page.getByRole("button", { name: "Go to the newest message" }).click();
    await expectSeen(page.getByText("Thinking…"));
    call.say("Gladly.").finish();
    await expectAnswer(page, "Gladly.");
  });

  it("shows the newest messages after the user sends one while reading earlier ones", async () => {
    const { page } = await open();
    await shown(page, 50);
    await press(page);
    await shown(page, 100);
    await say(page, "One more.");
    (await service.model.next()).say("Here it is.").finish();
    await expectAnswer(page, "Here it is.");
    await expectSeen(said(page).getByText("One more.", { exact: true }));
  });

  it("keeps the reading position when a message is sent from elsewhere", async () => {
    const { page } = await open();
    await shown(page, 50);
    await atRest(page);
    await log(page).evaluate((box) => box.scrollTo({ top: 1_000 }));
    await atRest(page);
    await service.direct.sendMessage(id, "From elsewhere");
    const call = await service.model.next();
    call.say("A long answer. ".repeat(200));
    await expect.poll(() => answers(page).last().innerText()).toContain("A long answer.");
    await atRest(page);
    expect(await log(page).evaluate((box) => box.scrollTop)).toBe(1_000);
    await say(page, "And mine");
    await expectAtEnd(page);
    call.finish();
  });

  it("reports a failed load of earlier messages, and retries it on request", async () => {
    const { page } = await open();
    await shown(page, 50);
    await press(page);
    await shown(page, 100);
    await atRest(page);
    // At the end, the page would again render only the newest messages.
    await log(page).evaluate((box) => box.scrollTo({ top: 300 }));
    await atRest(page);
    let isBroken = true;
    await page.route(/before=/, (route) =>
      isBroken ? route.fulfill({ status: 200, json: {} }) : route.continue(),
    );
    await press(page);
    await expectSeen(page.getByText(/Earlier messages were not loaded/));
    await shown(page, 100);
    isBroken = false;
    await press(page);
    await shown(page, 150);
  });

  it("shows the remaining messages after another page edits an earlier one", async () => {
    const { page } = await open();
    await shown(page, 50);
    const { messages } = await service.direct.getState(id);
    await service.direct.sendMessage(id, "Begin again.", { replaces: messages[2]!.id });
    (await service.model.next()).say("Gladly.").finish();
    await expectAnswer(page, "Gladly.");
    await shown(page, 4);
    await expectGone(earlier(page));
  });
});
