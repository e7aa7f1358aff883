// The AI SDK's own client, unmodified, in a page: `useChat` with `DefaultChatTransport`, as examples/use-chat has it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Client, type Snapshot } from "@colloquy/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { Program } from "../../../server/test/black-box/server.ts";
import { RoundRobin } from "../../../server/test/round-robin.ts";
import { buildExample } from "../build-example.ts";

const CONFIG = {
  apps: {
    default: {
      models: ["demo/assistant"],
      tools: ["calculator"],
      approvals: { calculator: "always" },
      clientTools: { time_zone: { description: "The user's time zone", inputSchema: { type: "object" } } },
    },
  },
};
/** Messages that the browser logs while the service is down. */
const UNANSWERED = /^console: (?:Failed to load resource: net::ERR_|.*ERR_INCOMPLETE)/;
const isLeftOut = await isWithoutChromium();

let folder: string;
let program: Program;
/** Gives the page a fixed address, because the service uses another port after each start. */
let balancer: RoundRobin;

beforeAll(async () => {
  if (isLeftOut) return;
  folder = await mkdtemp(join(tmpdir(), "colloquy-use-chat-"));
  await buildExample("use-chat", folder, { VITE_COLLOQUY_URL: "" });
  program = await Program.start(CONFIG);
  balancer = await RoundRobin.start();
  balancer.targets = [Number(new URL(program.url).port)];
});
afterAll(async () => {
  if (isLeftOut) return;
  await balancer.stop();
  await program.remove();
  await rm(folder, { recursive: true, force: true });
});

describe.skipIf(isLeftOut)("useChat with DefaultChatTransport", () => {
  const openPage = useChromium();
  const direct = (): Client => createClient({ baseUrl: program.url });

  async function open() {
    const origin = `http://127.0.0.1:${balancer.port}`;
    const watched = await openPage(origin);
    // The page's own files; everything else reaches the service.
    await watched.page.route(
      ({ pathname }) => pathname === "/" || pathname.startsWith("/assets/"),
      (route) => {
        const { pathname } = new URL(route.request().url());
        return route.fulfill({ path: join(folder, pathname === "/" ? "index.html" : pathname) });
      },
    );
    await watched.page.goto("/");
    return watched;
  }

  const log = (page: Page) => page.getByRole("log");
  const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
  const stateOf = (page: Page): Promise<Snapshot> =>
    direct().getState(new URL(page.url()).hash.slice(1), { wait: 30 });

  const see = (page: Page, text: RegExp | string): Promise<void> =>
    log(page).getByText(text).last().waitFor({ timeout: 30_000 });
  /** Sends a message and waits until the page shows it, and with it the Stop button. */
  async function say(page: Page, text: string): Promise<void> {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
    await see(page, text);
  }
  /** Waits until the answer is complete. */
  const rest = (page: Page): Promise<void> =>
    button(page, "Stop").waitFor({ state: "hidden", timeout: 30_000 });

  it("streams an answer, and continues it after a reload in the middle", async () => {
    const { page } = await open();
    await say(page, "count to 60");
    await see(page, /\b12\b/);
    await page.reload();
    await see(page, /\b30\b/);
    await see(page, /\b60\b/);
    await rest(page);
    const { messages } = await stateOf(page);
    expect(messages.map(({ status }) => status)).toEqual(["complete", "complete"]);
    expect(await log(page).locator("p").allTextContents()).toEqual([
      "count to 60",
      ...(messages[1]?.content ?? "").split(/(?<=20|40)\n\n/),
    ]);
    const shown = await log(page).textContent();
    await page.reload();
    await see(page, /\b60\b/);
    expect(await log(page).textContent()).toBe(shown);
  });

  it("stops the assistant", async () => {
    const { page } = await open();
    await say(page, "count to 500");
    await see(page, /\b5\b/);
    await button(page, "Stop").click();
    await rest(page);
    const { messages, status } = await stateOf(page);
    expect([messages[1]?.status, status]).toEqual(["interrupted", "interrupted"]);
  });

  it("approves and denies calls, also after a reload", async () => {
    const { page } = await open();
    await say(page, "what is 12 * 7?");
    await button(page, "Approve").click();
    await see(page, /\b84\b/);
    await rest(page);
    await say(page, "what is 5 * 5?");
    await button(page, "Deny").waitFor();
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await page.reload();
    await button(page, "Deny").click();
    await see(page, "The user denied this call.");
    await rest(page);
    const { messages } = await stateOf(page);
    expect(messages.map(({ tool_results: results = [] }) => results.map(({ is_error }) => is_error))).toEqual(
      [[], [false], [], [true]],
    );
  });

  it("runs a tool in the page", async () => {
    const { page } = await open();
    await say(page, "call time_zone {}");
    // The page shows its own result before it sends it, so only the service knows when the answer is complete.
    await expect.poll(async () => (await stateOf(page)).messages[1]?.status).toBe("complete");
    const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
    const { messages } = await stateOf(page);
    expect(messages).toMatchObject([
      {},
      { status: "complete", tool_results: [{ output: { time_zone: zone } }] },
    ]);
    await see(page, zone);
  });

  it("regenerates an answer, and edits a message", async () => {
    const { page } = await open();
    await say(page, "hello");
    await rest(page);
    await button(page, "Answer again").waitFor();
    const first = await stateOf(page);
    await button(page, "Answer again").click();
    await expect.poll(async () => (await stateOf(page)).messages[1]?.id).not.toBe(first.messages[1]?.id);
    await rest(page);
    await say(page, "hello again");
    await rest(page);
    await button(page, "Edit").first().click();
    await say(page, "count to 3");
    await see(page, /1 2 3/);
    await rest(page);
    const { messages } = await stateOf(page);
    expect(messages).toMatchObject([
      { id: first.messages[0]?.id, content: "count to 3" },
      { content: expect.stringContaining("1 2 3") },
    ]);
    expect(await log(page).locator("article").count()).toBe(2);
  });

  it("continues an answer when the service was killed and restarted", async () => {
    const { page, expectTrouble } = await open();
    expectTrouble(UNANSWERED);
    await say(page, "count to 200");
    await see(page, /\b25\b/);
    await program.stop("SIGKILL");
    await page.getByRole("alert").waitFor();
    await program.run();
    balancer.targets = [Number(new URL(program.url).port)];
    await see(page, /\b200\b/);
    await rest(page);
    const { messages } = await stateOf(page);
    const shown = await log(page).locator("article.assistant p").allTextContents();
    expect(shown.join("\n\n")).toBe(messages[1]?.content);
    expect(messages[1]?.content.match(/\d+/g)).toEqual(
      Array.from({ length: 200 }, (_, at) => String(at + 1)),
    );
  });
});
