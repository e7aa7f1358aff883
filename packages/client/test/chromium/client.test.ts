// The client in a page behind a faulty proxy. The tests advance the page's own clock.

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { openRealTab, type RealTab } from "../../../../test/browser/real-tab.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import type { Frame } from "../../src/event-stream-parser.ts";
import type { Connection, SessionUpdate, Snapshot } from "../../src/index.ts";
import { serve, type Served } from "../served.ts";
import { recordStream } from "../stream-record.ts";
import { beginTest, buildClientPage, servePage, type ClientPage, type InPage } from "./client-page.ts";

/** Chromium's console messages about connections that the tests break. */
const BROKEN = /^console: Failed to load resource: net::ERR_/;

let files: ClientPage;
let served: Served;
let id: string;

// Shared by all tests: each has a session of its own.
beforeAll(async () => {
  files = await buildClientPage();
  served = await serve();
});
beforeEach(() => void (id = beginTest(served.proxy, files)));
// A leftover call would be served to the next test.
afterEach(() => expect(served.model.waitingCalls).toBe(0));
afterAll(() => served?.stop());

/** Makes the page follow the session from now on. */
async function follow(page: Page): Promise<void> {
  await page.waitForFunction(() => "colloquy" in globalThis);
  await page.evaluate((id) => {
    const own = globalThis as unknown as InPage;
    own.session = own.colloquy.createClient().session(id);
    own.updates = [];
    const updates = own.session.updates();
    void (async () => {
      for await (const update of updates) own.updates.push(update);
    })();
  }, id);
}

interface Shown {
  readonly snapshot: Snapshot | null;
  readonly connection: Connection["state"];
  readonly updates: readonly SessionUpdate[];
}

const shown = (page: Page): Promise<Shown> =>
  page.evaluate(() => {
    const { session, updates } = globalThis as unknown as InPage;
    return { snapshot: session.getSnapshot(), connection: session.getConnection().state, updates };
  });
const lastText = async (page: Page): Promise<string | undefined> =>
  (await shown(page)).snapshot?.messages.at(-1)?.content;

/** Waits until the page meets the condition, advancing its clock by `ms` before each check. */
async function until(page: Page, condition: (shown: Shown) => boolean, ms = 0): Promise<void> {
  const look = async (): Promise<boolean> => {
    if (ms > 0) await page.clock.runFor(ms);
    return condition(await shown(page));
  };
  await expect.poll(look, { timeout: 20_000, interval: 10, message: condition.toString() }).toBe(true);
}

/** Builds the answer's text by appending only. Each part must start where the text before it ended. */
function readText(updates: readonly SessionUpdate[]): string {
  return updates.reduce((text, update) => {
    if (update.type === "message_created") return update.message.content;
    if (update.type === "message_completed") {
      const { content } = update.message;
      return content.startsWith(text) ? content : `${text}, and then: ${content}`;
    }
    if (update.type !== "message_delta") return text;
    return update.offset === 0 ? update.text : text + update.text;
  }, "");
}

/** Counts message events by kind. */
function messageEventCounts(updates: readonly SessionUpdate[]): readonly string[] {
  return updates.flatMap((update) =>
    "message" in update && typeof update.message === "object"
      ? [`${update.type} ${update.message.sender}`]
      : [],
  );
}

/**
 * Asserts that the page equals the service's snapshot, got there by events that came once each, and that the
 * texts equal the stored ones.
 */
async function expectSame(page: Page, text: string): Promise<void> {
  const { snapshot, updates } = await shown(page);
  expect(snapshot).toEqual(await served.direct.getState(id));
  expect(readText(updates)).toBe(text);
  expect(messageEventCounts(updates)).toEqual([
    "message_created user",
    "message_created agent",
    "message_completed agent",
  ]);
  const records = await served.direct.listMessages(id);
  expect(records.map(({ content }) => content)).toEqual([snapshot?.messages[0]?.content, text]);
}

describe.skipIf(await isWithoutChromium())("the client in Chromium", () => {
  const openPage = useChromium();

  async function open(): Promise<Page> {
    const { page, expectTrouble } = await openPage(served.url);
    expectTrouble(BROKEN);
    await page.clock.install();
    await page.goto("/");
    await follow(page);
    return page;
  }

  const send = (page: Page, text: string): Promise<unknown> =>
    page.evaluate((text) => (globalThis as unknown as InPage).session.send(text), text);

  it("sends, shows the growing answer, and stops it", async () => {
    const page = await open();
    await until(page, ({ connection }) => connection === "live");
    await send(page, "Hi");
    const call = await served.model.next();
    call.say("Grüße ", "🫖 ");
    await expect.poll(() => lastText(page)).toBe("Grüße 🫖 ");
    call.say("漢字").finish();
    await until(page, ({ snapshot }) => snapshot?.is_processing === false && snapshot.title === "Hi");
    await expectSame(page, "Grüße 🫖 漢字");
    await send(page, "On");
    (await served.model.next()).say("One two");
    await expect.poll(() => lastText(page)).toBe("One two");
    await page.evaluate(() => (globalThis as unknown as InPage).session.interrupt());
    await until(page, ({ snapshot }) => snapshot?.status === "interrupted");
    expect((await served.direct.getState(id)).messages.at(-1)?.content).toBe("One two");
  });

  it("resumes a stream that is cut in the middle of an answer", async () => {
    const page = await open();
    await until(page, ({ connection }) => connection === "live");
    await send(page, "Hi");
    const call = await served.model.next();
    call.say("one ");
    await expect.poll(() => lastText(page)).toBe("one ");
    served.proxy.cut();
    call.say("two ");
    // The client waits for a random time, which may be too short to be seen.
    await until(page, ({ snapshot }) => snapshot?.messages.at(-1)?.content === "one two ");
    call.say("three").finish();
    await until(page, ({ snapshot }) => snapshot?.is_processing === false && snapshot.title === "Hi");
    await expectSame(page, "one two three");
    const { seen, heads } = served.proxy;
    expect(heads[seen.lastIndexOf("GET /api/updates")]?.["last-event-id"]).toMatch(/-\d+$/);
  });

  it("loses and duplicates nothing when every stream is cut after some bytes", async () => {
    let streams = 0;
    servePage(served.proxy, files, ({ path }) => {
      if (path !== "/api/updates") return null;
      streams += 1;
      // Enough for the start of a stream and some of its events, each time another number.
      return 500 + ((streams * 37) % 400);
    });
    const page = await open();
    await send(page, "Hi");
    const call = await served.model.next();
    const words: string[] = [];
    // How many words a stream brings before its end depends on what the stream before left.
    while (words.length < 20 || (streams <= 10 && words.length < 200)) {
      const word = `${words.length} 🫖 and so on\n`;
      words.push(word);
      call.say(word);
      // Wait for each word, so that the next one meets another stream or none.
      await until(page, ({ snapshot }) => snapshot?.messages.at(-1)?.content.endsWith(word) === true, 500);
      // A stream that breaks before the page has read anything counts as blocked: the client polls for a while.
      if ((await shown(page)).connection === "polling") await page.clock.runFor(30_000);
    }
    call.finish();
    await until(page, ({ snapshot }) => snapshot?.is_processing === false && snapshot.title === "Hi", 1_000);
    expect(streams).toBeGreaterThan(10);
    servePage(served.proxy, files);
    await until(page, ({ connection }) => connection === "live", 1_000);
    await expectSame(page, words.join(""));
  });

  it("stores a message once when its answer is lost", async () => {
    let isLost = true;
    servePage(served.proxy, files, ({ method }) => {
      const fault = method === "POST" && isLost ? "lose" : null;
      if (fault !== null) isLost = false;
      return fault;
    });
    const page = await open();
    const sending = send(page, "Hi");
    const isAccepted = sending.then(() => true);
    await until(page, ({ snapshot }) => (snapshot?.messages.length ?? 0) > 0, 100);
    const winding = until(
      page,
      () => served.proxy.seen.filter((line) => line === "POST /api/chat").length === 2,
      100,
    );
    await winding;
    expect(await isAccepted).toBe(true);
    (await served.model.next()).say("Hello").finish();
    await until(page, ({ snapshot }) => snapshot?.is_processing === false && snapshot.title === "Hi");
    await expectSame(page, "Hello");
  });

  it("polls with ETag where streams are blocked, and follows again once they work", async () => {
    const statuses: string[] = [];
    servePage(served.proxy, files, ({ path }) => (path === "/api/updates" ? "swallow" : null));
    const page = await open();
    page.on("response", (response) => {
      if (response.url().endsWith("/api/state")) statuses.push(String(response.status()));
    });
    await until(page, ({ connection }) => connection === "polling", 500);
    await send(page, "Hi");
    const call = await served.model.next();
    call.say("one ");
    await until(page, ({ snapshot }) => snapshot?.messages.at(-1)?.content === "one ", 250);
    // Nothing has changed: Chromium passes on the 304 without a body.
    await until(page, () => statuses.includes("304"), 250);
    call.say("two ");
    await until(page, ({ snapshot }) => snapshot?.messages.at(-1)?.content === "one two ", 250);
    servePage(served.proxy, files);
    await until(page, ({ connection }) => connection === "live", 1_000);
    call.say("three").finish();
    await until(page, ({ snapshot }) => snapshot?.is_processing === false && snapshot.title === "Hi");
    expect((await shown(page)).connection).toBe("live");
    await expectSame(page, "one two three");
  });

  it("reconnects at once when the network is back", async () => {
    const page = await open();
    await until(page, ({ connection }) => connection === "live");
    await send(page, "Hi");
    const call = await served.model.next();
    call.say("one ");
    await expect.poll(() => lastText(page)).toBe("one ");
    await page.context().setOffline(true);
    served.proxy.cut();
    await until(page, ({ connection }) => connection === "waiting");
    // The pauses grow to half a minute while the service is unreachable. Then the clock stops, so that no
    // pause ends.
    for (let minute = 0; minute < 3; minute += 1) await page.clock.runFor(60_000);
    await page.clock.pauseAt(Date.now() + 3_600_000);
    call.say("two ").finish();
    await until(page, ({ connection }) => connection === "waiting");
    await page.context().setOffline(false);
    await until(page, ({ snapshot }) => snapshot?.is_processing === false);
    await until(page, ({ snapshot, connection }) => connection === "live" && snapshot?.title === "Hi");
    await expectSame(page, "one two ");
  });

  it("gives the same frames for every split of a stream", async () => {
    const page = await open();
    const { bytes } = await recordStream(served);
    const different = await page.evaluate((encoded) => {
      const { createEventStreamParser } = globalThis as unknown as InPage;
      const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
      const parse = (...pieces: Uint8Array[]): string => {
        const frames: Frame[] = [];
        const take = createEventStreamParser((frame) => frames.push(frame));
        for (const piece of pieces) take(piece);
        return JSON.stringify(frames);
      };
      const whole = parse(bytes);
      const wrong: number[] = [];
      for (let at = 0; at <= bytes.length; at += 1) {
        if (parse(bytes.subarray(0, at), bytes.subarray(at)) !== whole) wrong.push(at);
      }
      return { frames: (JSON.parse(whole) as Frame[]).length, cuts: bytes.length + 1, wrong };
    }, bytes.toString("base64"));
    expect(different).toEqual({ frames: expect.any(Number), cuts: bytes.length + 1, wrong: [] });
    expect(different.frames).toBeGreaterThan(8);
  });
});

describe.skipIf(await isWithoutChromium())("the client in a tab", () => {
  let tab: RealTab;
  let page: Page;

  beforeAll(async () => {
    tab = await openRealTab(served.url);
    tab.expectTrouble(BROKEN);
    page = tab.page;
  });
  beforeEach(async () => {
    await tab.show();
    await page.goto(served.url);
    await follow(page);
    await until(page, ({ connection }) => connection === "live");
  });
  let heard = 0;
  afterEach(() => {
    const troubles = tab.troubles().slice(heard);
    heard += troubles.length;
    expect(troubles).toEqual([]);
  });
  afterAll(() => tab?.close());

  const visibility = (): Promise<unknown> => page.evaluate("document.visibilityState");
  const send = (text: string): Promise<unknown> => served.direct.sendMessage(id, text);

  it("keeps following while another tab is in front, also after the stream was cut", async () => {
    await tab.hide();
    await expect.poll(visibility).toBe("hidden");
    await send("Hi");
    const call = await served.model.next();
    call.say("one ");
    await expect.poll(() => lastText(page)).toBe("one ");
    served.proxy.cut();
    call.say("two ");
    await expect.poll(() => lastText(page)).toBe("one two ");
    call.say("three").finish();
    await until(page, ({ snapshot }) => snapshot?.is_processing === false && snapshot.title === "Hi");
    expect(await visibility()).toBe("hidden");
    await expectSame(page, "one two three");
  });

  it("catches up when shown again after it was frozen and its connections are gone", async () => {
    await tab.freeze();
    await expect.poll(visibility).toBe("hidden");
    await send("Hi");
    const call = await served.model.next();
    call.say("one ");
    served.proxy.cut();
    call.say("two").finish();
    await expect.poll(async () => (await served.direct.getState(id)).title).toBe("Hi");
    await tab.show();
    await until(page, ({ snapshot }) => snapshot?.is_processing === false && snapshot.title === "Hi");
    await expectSame(page, "one two");
  });
});
