// The screenshots of docs/screenshots: `npm run screenshots` writes them, and every test run checks that they
// are still up to date.

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findViolations, settle } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { createSystemClock } from "../../../engine/src/wiring/clock.ts";
import { answers, expectAnswer, expectGone, expectSeen, openConsole } from "./console-page.ts";
import { ADMIN_KEY, prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import {
  ACCOUNT,
  askingConversation,
  restingConversation,
  streamingConversation,
} from "./full-conversation.ts";

const FOLDER = join(import.meta.dirname, "../../../../docs/screenshots");
const LANDMARKS = join(FOLDER, "landmarks.json");
/** Whether to write the screenshots into the documentation. */
const isWriting = process.env["COLLOQUY_SCREENSHOTS"] === "write";
/** The fixed time of all screenshots, for service and page. */
const MOMENT = Date.UTC(2026, 10, 20, 9, 41);
const TEA = "5b1f0a52-8f43-4c5e-9d0a-6f1c2e7b9a10";
const TOKYO = "9e7d5c3b-1a2f-4e6d-8c4b-0f1e2d3c4b5a";
const ORDER = "c0a8f3d4-17be-4a8e-8a52-3f9d1b6e2c47";
const isLeftOut = await isWithoutChromium();

/** Where the pictures find the example application examples/react-chat. */
const EXAMPLE = "/react-chat/";

interface Picture {
  readonly options: BrowserContextOptions;
  /** Navigates to what the screenshot shows. */
  readonly go: (page: Page) => Promise<void>;
}

const PICTURES: Readonly<Record<string, Picture>> = {
  "chat-desk": {
    options: { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    go: async (page) => {
      await openConsole(page, TOKYO);
      await expectAnswer(page, /let$/);
      await expectSeen(page.getByRole("button", { name: "Stop" }));
    },
  },
  "asking-desk": {
    options: { colorScheme: "light", viewport: { width: 1280, height: 1000 } },
    go: async (page) => {
      await openConsole(page, ORDER);
      await expectSeen(page.getByRole("group", { name: "The assistant asks" }).nth(3));
      await page.getByText("Order three cups").last().scrollIntoViewIfNeeded();
    },
  },
  "developer-desk": {
    options: { colorScheme: "dark", viewport: { width: 1440, height: 900 } },
    go: async (page) => {
      await openTea(page);
      await page.getByRole("button", { name: "Developer panel" }).click();
      await page.getByRole("tab", { name: "Snapshot" }).click();
      await expectSeen(page.getByText(TEA).first());
    },
  },
  "operate-desk": {
    options: { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    go: async (page) => {
      await page.goto("/#/operate/overview");
      await expectSeen(page.getByText("SQLite"));
      await expectGone(page.getByText("Loading…"));
    },
  },
  "chat-phone": {
    options: { colorScheme: "dark", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 },
    go: (page) => openTea(page),
  },
  "react-chat-desk": {
    options: { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    go: (page) => askInExample(page),
  },
  "react-chat-phone": {
    options: { colorScheme: "dark", viewport: { width: 390, height: 844 } },
    go: (page) => askInExample(page),
  },
};

let service: ConsoleService;
/** The built example application. */
let example: string;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  const clock = createSystemClock();
  const begun = clock.now();
  service = await serveConsole({
    clock: { ...clock, now: () => MOMENT + clock.now() - begun },
    rig: "house/assistant",
  });
  example = await mkdtemp(join(tmpdir(), "colloquy-pictures-"));
  await buildExample(service.url, example);
  const { direct, model } = service;
  for (const [question, answer] of [
    ["A haiku about the first rain", "The gutter whispers."],
    ["Plan a day among the fields of Uji", "Take the early train."],
    ["What is the difference between sencha and bancha?", "The harvest."],
  ] as const) {
    const sending = direct.sendMessage(crypto.randomUUID(), question, { publicKey: ACCOUNT, wait: true });
    (await model.next()).say(answer).finish();
    await sending;
  }
  await direct.createSession(TEA, { publicKey: ACCOUNT });
  await restingConversation(service, TEA);
  await askingConversation(service, ORDER);
  await streamingConversation(service, TOKYO);
});
afterAll(async () => {
  await service?.stop();
  if (example !== undefined) await rm(example, { recursive: true, force: true });
});

/** Builds the example for this service. */
async function buildExample(url: string, outDir: string): Promise<void> {
  const root = join(import.meta.dirname, "../../../../examples/react-chat");
  await build({
    root,
    base: EXAMPLE,
    logLevel: "silent",
    define: { "import.meta.env.VITE_COLLOQUY_URL": JSON.stringify(url) },
    build: { outDir, emptyOutDir: true },
  });
}

/** Sends messages in the example application, up to a call that waits for an approval. */
async function askInExample(page: Page): Promise<void> {
  await page.route(`**${EXAMPLE}**`, (route) => {
    const path = new URL(route.request().url()).pathname.slice(EXAMPLE.length) || "index.html";
    return route.fulfill({ path: join(example, path) });
  });
  await page.goto(EXAMPLE);
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("How warm should the water be for sencha?");
  await message.press("Enter");
  const answer = "Between 70 and 80 °C. Boiling water burns the leaves and makes the tea bitter.";
  (await service.model.next()).say(answer).finish();
  await expectSeen(page.getByRole("log").getByText(answer));
  await expectGone(page.getByRole("button", { name: "Stop" }));
  await message.fill("And what do three packets at 12.40 cost?");
  await message.press("Enter");
  (await service.model.next()).callTool("calculator", { expression: "3 * 12.40" }).finish("tool-calls");
  await expectSeen(page.getByText("waiting for you"));
  await expectSeen(page.getByRole("button", { name: "Approve" }));
}

async function openTea(page: Page): Promise<void> {
  await openConsole(page, TEA);
  await expectAnswer(page, /One, two, three/);
  await answers(page).first().getByText("Green tea wants water").scrollIntoViewIfNeeded();
}

/** Returns the named elements in view: headings, fields and controls, as `role: name`. */
function landmarksOf(page: Page): Promise<readonly string[]> {
  return page.locator("body").evaluate((body) => {
    const named = body.querySelectorAll(
      "h1, h2, h3, button, a[href], input, textarea, select, [role=tab], summary",
    );
    return Array.from(named, (element) => {
      const name = element.getAttribute("aria-label") ?? element.textContent ?? "";
      return `${element.tagName.toLowerCase()}: ${name
        .replaceAll(/[\d.]+ m?s\b/g, "some time")
        .trim()
        .slice(0, 80)}`;
    });
  });
}

/** Returns width and height of a PNG, from its first chunk. */
function sizeOf(png: Buffer): readonly [number, number] {
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}

describe.skipIf(isLeftOut)("the screenshots of the documentation", () => {
  const openPage = useChromium();

  it.each(Object.keys(PICTURES))("%s is up to date", async (name) => {
    const { options, go } = PICTURES[name]!;
    const { page } = await openPage(service.url, { ...options, timezoneId: "UTC", reducedMotion: "reduce" });
    await page.clock.install({ time: MOMENT + 300_000 });
    await page.addInitScript(
      (settings) => sessionStorage.setItem("colloquy.settings", JSON.stringify(settings)),
      { wallet: ACCOUNT, adminKey: ADMIN_KEY },
    );
    await go(page);
    await settle(page);
    const picture = await page.screenshot({ animations: "disabled" });
    const landmarks = await landmarksOf(page);
    expect(landmarks.length).toBeGreaterThan(5);
    const known = await readFile(LANDMARKS, "utf8").then(
      (text) => JSON.parse(text) as Record<string, readonly string[]>,
      () => ({}),
    );
    if (isWriting) {
      await mkdir(FOLDER, { recursive: true });
      await writeFile(join(FOLDER, `${name}.png`), picture);
      await writeFile(LANDMARKS, `${JSON.stringify({ ...known, [name]: landmarks }, null, 2)}\n`);
      return;
    }
    // The console has its own test (accessibility.test.ts).
    if (name.startsWith("react-chat")) expect(await findViolations(page)).toEqual([]);
    const kept = await readFile(join(FOLDER, `${name}.png`));
    expect(sizeOf(picture)).toEqual(sizeOf(kept));
    // If they differ on purpose, run `npm run screenshots` and look at the images.
    expect({ [name]: landmarks }).toEqual({ [name]: known[name as keyof typeof known] });
  });
});
