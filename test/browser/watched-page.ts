// A page that records forbidden events: errors, policy violations, dialogs, new windows, requests to other
// hosts.

import type { BrowserContext, BrowserContextOptions, ConsoleMessage, Page, Request } from "playwright-core";

/** A recorded event, as one line for the test report. */
type Trouble = string;

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Allows events of this kind from now on, for example failing requests in a test that cuts the network. */
  expectTrouble(kind: RegExp): void;
  /** Returns forbidden events of all pages of the context. */
  troubles(): readonly Trouble[];
}

/**
 * Name of the global with which pages report violations. A page that removes it reports nothing; the
 * harness's own test would notice.
 */
const REPORT = "reportPolicyViolation";

/** Opens a context with one page. Only `origin` may receive requests. */
export async function watchPage(
  create: (options: BrowserContextOptions) => Promise<BrowserContext>,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await create({ baseURL: origin, locale: "en-US", ...options });
  const found: Trouble[] = [];
  const expected: RegExp[] = [];
  const report = (trouble: Trouble): void => {
    if (!expected.some((kind) => kind.test(trouble))) found.push(trouble);
  };
  await context.exposeBinding(REPORT, (_source, violation: string) => report(`policy: ${violation}`));
  await context.addInitScript(reportViolations, REPORT);
  context.on("console", (message) => reportMessage(message, report));
  context.on("weberror", (error) => report(`error: ${String(error.error())}`));
  context.on("dialog", (dialog) => {
    report(`dialog: ${dialog.type()} ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on("request", (request) => reportRequest(request, origin, report));
  const page = await context.newPage();
  page.on("popup", (popup) => report(`window: ${popup.url()}`));
  page.on("download", (download) => report(`download: ${download.url()}`));
  page.on("crash", () => report("crash: the page has crashed"));
  return {
    page,
    context,
    expectTrouble: (kind) => void expected.push(kind),
    troubles: () => found,
  };
}

function reportMessage(message: ConsoleMessage, report: (trouble: Trouble) => void): void {
  const text = message.text();
  const isPolicy = /content security policy|trusted ?type/i.test(text);
  if (message.type() === "error" || isPolicy) report(`console: ${text} (${message.location().url})`);
}

function reportRequest(request: Request, origin: string, report: (trouble: Trouble) => void): void {
  const url = request.url();
  // Created by the page, without any network traffic.
  if (/^(data|blob|about):/.test(url)) return;
  if (!URL.canParse(url) || new URL(url).origin !== origin) report(`request: ${request.method()} ${url}`);
}

/** Runs in the page before its own scripts. */
function reportViolations(name: string): void {
  interface Violation {
    readonly effectiveDirective: string;
    readonly blockedURI: string;
    readonly sourceFile: string;
  }
  const page = globalThis as unknown as Record<string, (violation: string) => void> & {
    document: { addEventListener(event: string, listener: (event: Violation) => void): void };
  };
  const tell = page[name];
  page.document.addEventListener("securitypolicyviolation", (event) => {
    tell?.(`${event.effectiveDirective} refused ${event.blockedURI} in ${event.sourceFile}`);
  });
}
