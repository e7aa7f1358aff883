// A tab in a window with other tabs: it can be hidden behind another one and frozen, and Chromium throttles
// its timers then. Playwright's own pages are always in front.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { findChromium } from "./chromium.ts";
import { watchPage, type WatchedPage } from "./watched-page.ts";

export interface RealTab extends WatchedPage {
  /** Brings another tab to the front. */
  hide(): Promise<void>;
  /** Suspends the tab, as on a small device after a while. */
  freeze(): Promise<void>;
  show(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a tab that may send requests to this origin only. */
export async function openRealTab(origin: string): Promise<RealTab> {
  const profile = await mkdtemp(join(tmpdir(), "colloquy-chromium-"));
  const child = spawn(
    await findChromium(),
    [
      "--headless=new",
      "--remote-debugging-port=0",
      `--user-data-dir=${profile}`,
      "--no-first-run",
      "--disable-background-networking",
      "--disable-dev-shm-usage",
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const browser = await chromium.connectOverCDP(await endpointOf(createInterface({ input: child.stderr })), {
    noDefaults: true,
  });
  child.stderr.resume();
  const [window] = browser.contexts();
  if (window === undefined) throw new Error("Chromium has no window");
  const watched = await watchPage(async () => window, origin);
  const { page } = watched;
  const other = await window.newPage();
  const debugged = await window.newCDPSession(page);
  await page.bringToFront();
  return {
    ...watched,
    hide: () => other.bringToFront(),
    freeze: async () => {
      await other.bringToFront();
      await debugged.send("Page.setWebLifecycleState", { state: "frozen" });
    },
    show: async () => {
      await debugged.send("Page.setWebLifecycleState", { state: "active" });
      await page.bringToFront();
    },
    close: async () => {
      const ended = once(child, "exit");
      await browser.close();
      child.kill();
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Returns the debugger endpoint that Chromium prints. */
async function endpointOf(lines: AsyncIterable<string>): Promise<string> {
  const said: string[] = [];
  for await (const line of lines) {
    const endpoint = /DevTools listening on (ws:\S+)/.exec(line)?.[1];
    if (endpoint !== undefined) return endpoint;
    said.push(line);
  }
  throw new Error(`Chromium ended before it listened:\n${said.join("\n")}`);
}
