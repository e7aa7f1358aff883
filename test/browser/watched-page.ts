// A page that everything is written down of that must not happen in it: errors, violations of its content security policy, dialogs, windows
// that open, requests to other hosts.

import type { BrowserContext, BrowserContextOptions, ConsoleMessage, Page, Request } from "playwright-core";

/** Something that happened, as one line for the report of a test. */
type Trouble = string;

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Troubles of this kind are meant to happen from now on: a test that cuts the network sees requests fail. */
  expectTrouble(kind: RegExp): void;
  /** What happened that must not, of all pages of the context. */
  troubles(): readonly Trouble[];
}

/** Under which name a page reports violations. A page that takes it away reports nothing, which the harness's own test would find. */
const REPORT = "reportPolicyViolation";

/** A context of its own with one page. `origin` is the only one that may be asked for anything. */
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
  // These are made by the page and leave nothing behind on any network.
  if (/^(data|blob|about):/.test(url)) return;
  if (!URL.canParse(url) || new URL(url).origin !== origin) report(`request: ${request.method()} ${url}`);
}

/** Runs in the page before anything of its own. */
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
