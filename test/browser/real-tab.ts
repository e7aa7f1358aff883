// A tab of a window that has others, as people have it: it can be hidden behind another one, and frozen, and Chromium slows its timers
// down then. Pages that Playwright makes are always in front.

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
  /** Another tab comes to the front. */
  hide(): Promise<void>;
  /** Nothing runs in it any more, as in a tab that was hidden for long on a small device. */
  freeze(): Promise<void>;
  show(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a tab that may ask this origin and no other for anything. */
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

/** Where Chromium says that it listens for a debugger. */
async function endpointOf(lines: AsyncIterable<string>): Promise<string> {
  const said: string[] = [];
  for await (const line of lines) {
    const endpoint = /DevTools listening on (ws:\S+)/.exec(line)?.[1];
    if (endpoint !== undefined) return endpoint;
    said.push(line);
  }
  throw new Error(`Chromium has ended before it listened:\n${said.join("\n")}`);
}
