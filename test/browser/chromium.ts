// Chromium as installed on the machine: Debian's in CI. Nothing is downloaded.

import { type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { findProgram } from "../../packages/server/test/programs.ts";
import { addressOf, type StartedProgram } from "../shared-programs.ts";
import { Outside } from "./outside.ts";

/**
 * Features to disable. The address bar of each window loads two pages of its own, even headless, which
 * doubles the cost of a page. Only the last of repeated switches counts, so Playwright's own list is
 * included.
 */
const WITHOUT_FEATURES = [
  "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
  "AimEnabled,AvoidCorsURLLoaderRestartOnRedirect,AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable,HttpsUpgrades,LensOverlay,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints",
  "PaintHolding,PreconnectToSearch,TcpPortRandomizationWin,ThirdPartyStoragePartitioning",
].join(",");
const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Returns the path of the program, `null` if there is none. */
export async function pathOfChromium(): Promise<string | null> {
  const found = await Promise.all(NAMES.map(findProgram));
  return found.find((path) => path !== null) ?? null;
}

/** Returns the path of the program. Throws if there is none. */
export async function findChromium(): Promise<string> {
  const path = await pathOfChromium();
  if (path === null) throw new Error("There is no Chromium here. On Debian: apt-get install chromium");
  return path;
}

/** Returns true if there is no Chromium: browser tests are skipped then. */
export async function isWithoutChromium(): Promise<boolean> {
  return (await pathOfChromium()) === null;
}

export interface LaunchedChromium {
  readonly newContext: (options: BrowserContextOptions) => Promise<BrowserContext>;
  /** Records requests to hosts other than this machine. */
  readonly outside: Outside;
  close(): Promise<void>;
}

/** Returns the Chromium of the run, with contexts that are closed with it. */
export async function launchChromium(): Promise<LaunchedChromium> {
  const browser = await chromium.connect(await addressOf("chromium"));
  const outside = await Outside.start();
  // The loopback is never asked through a proxy, everything else is.
  const proxy = { server: `http://${outside.address}`, bypass: "127.0.0.1,localhost" };
  return {
    newContext: (options) => browser.newContext({ ...options, proxy }),
    outside,
    close: async () => {
      await browser.close();
      await outside.stop();
    },
  };
}

export async function startSharedChromium(): Promise<StartedProgram> {
  const executablePath = await findChromium();
  // Chromium's sandbox refuses to run as root.
  const chromiumSandbox = process.getuid?.() !== 0;
  // In memory, because /dev/shm is small in containers.
  const args = ["--disable-dev-shm-usage", "--lang=en-US", `--disable-features=${WITHOUT_FEATURES}`];
  const server = await chromium.launchServer({ executablePath, chromiumSandbox, args, host: "127.0.0.1" });
  return { address: server.wsEndpoint(), stop: () => server.close() };
}
