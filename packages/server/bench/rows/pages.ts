// What the console costs in Chromium: a key press in a long conversation, and a long answer. The controls are the same
// in a short one.

import { chromium, type Browser, type CDPSession, type Page } from "playwright-core";
import { findChromium } from "../../../../test/browser/chromium.ts";
import type { ColloquyHandlers } from "../colloquy.ts";
import { postRequest, randomSessionId } from "../load/requests.ts";
import type { RoleProcess } from "../role.ts";
import { median } from "../statistics.ts";
import { formatRounds, type Row } from "../table.ts";
import { makeSession } from "./long-session.ts";
import { inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";

const LONG = 2000;
const SHORT = 20;
const KEYS = 40;
/** Characters of a piece of a streamed answer: a paragraph. */
const PIECE = 512;
const LONG_PIECES = 2 ** 20 / PIECE;
const SHORT_PIECES = 10_240 / PIECE;
const EVERY_MS = 5;

export async function measurePages(context: RowContext): Promise<readonly Row[]> {
  const colloquy = startColloquyRole(context);
  const browser = await chromium.launch({
    executablePath: await findChromium(),
    // Chromium's sandbox refuses to run as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ["--disable-dev-shm-usage"],
  });
  try {
    const port = await colloquy.ask("port");
    return [
      await measureKeys(context, browser, port),
      await measureStreamed(context, browser, colloquy, port),
    ];
  } finally {
    await browser.close();
    await stopAll([colloquy]);
  }
}

async function measureKeys(context: RowContext, browser: Browser, port: number): Promise<Row> {
  const open = async (messages: number) =>
    await openPage(browser, port, await makeSession(context, port, messages));
  const [long, short] = [await open(LONG), await open(SHORT)];
  const ofKeys = ([page, costs]: OpenPage) =>
    taskMs(costs, async () => {
      await page.bringToFront();
      await composerOf(page).pressSequentially("k".repeat(KEYS));
      await painted(page);
      await composerOf(page).fill("");
    });
  const rounds = await inTurn(
    context.rounds,
    () => ofKeys(long),
    () => ofKeys(short),
  );
  for (const [page] of [long, short]) await page.context().close();
  const ratios = rounds.map((round) => round.colloquy / round.control);
  const perKey = (ms: readonly number[]) => `${(median(ms) / KEYS).toFixed(2)} ms`;
  return {
    name: `a key press in the console in a conversation of ${LONG} messages, against one of ${SHORT}: time of the page`,
    colloquy: perKey(rounds.map((round) => round.colloquy)),
    control: perKey(rounds.map((round) => round.control)),
    ratio: formatRounds(ratios),
    target: "at most 1.5",
    met: median(ratios) <= 1.5,
  };
}

async function measureStreamed(
  context: RowContext,
  browser: Browser,
  colloquy: RoleProcess<ColloquyHandlers>,
  port: number,
): Promise<Row> {
  const stream = async (pieces: number): Promise<number> => {
    const id = randomSessionId();
    const name = id.slice(0, 8);
    await context.client.ask("fetch", {
      port,
      requests: [postRequest(`/api/chat?message=follow+${name}`, id)],
    });
    const [page, costs] = await openPage(browser, port, id);
    const marks = Array.from({ length: pieces }, (_, at) => paragraph(at));
    const ms = await taskMs(costs, async () => {
      await colloquy.ask("sayPaced", { names: [name], marks, everyMs: EVERY_MS });
      await page.getByText(`Paragraph ${pieces - 1}.`).waitFor({ state: "attached", timeout: 120_000 });
      await painted(page);
    });
    await context.client.ask("fetch", { port, requests: [postRequest("/api/interrupt", id)] });
    await page.context().close();
    return (ms * 1e6) / (pieces * PIECE);
  };
  const rounds = await inTurn(
    Math.min(context.rounds, 3),
    () => stream(LONG_PIECES),
    () => stream(SHORT_PIECES),
  );
  const ratios = rounds.map((round) => round.colloquy / round.control);
  const perByte = (values: readonly number[]) => `${median(values).toFixed(0)} ns`;
  return {
    name: "an answer of 1 MB that streams into the console, against one of 10 KB: time of the page for each byte",
    colloquy: perByte(rounds.map((round) => round.colloquy)),
    control: perByte(rounds.map((round) => round.control)),
    ratio: formatRounds(ratios),
    target: "at most 3",
    met: median(ratios) <= 3,
  };
}

type OpenPage = readonly [page: Page, costs: CDPSession];

const composerOf = (page: Page) => page.getByRole("textbox", { name: "Message", exact: true });

async function openPage(browser: Browser, port: number, id: string): Promise<OpenPage> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${port}/#/chat/${id}`);
  await page.getByRole("article").first().waitFor();
  await composerOf(page).pressSequentially("k");
  await painted(page);
  const costs = await page.context().newCDPSession(page);
  await costs.send("Performance.enable", { timeDomain: "threadTicks" });
  return [page, costs];
}

/** Returns the milliseconds that the page's main thread spends while `work` runs. */
async function taskMs(costs: CDPSession, work: () => Promise<void>): Promise<number> {
  const spent = async (): Promise<number> => {
    const { metrics } = await costs.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
  };
  const before = await spent();
  await work();
  return (await spent()) - before;
}

async function painted(page: Page): Promise<void> {
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
}

/** Returns a paragraph of `PIECE` characters. */
function paragraph(at: number): string {
  return `Paragraph ${at}. `
    .padEnd(PIECE - 3, "Some **words** of text and `code` that fill it up. ")
    .concat("\n\n");
}
