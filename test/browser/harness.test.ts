// Verifies that the harness detects forbidden behaviour: tests that rely on it would not notice otherwise.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findViolations, findViolationsInBothSchemes, settle } from "./accessibility.ts";
import { isWithoutChromium, launchChromium, type LaunchedChromium } from "./chromium.ts";
import { watchPage, type WatchedPage } from "./watched-page.ts";

const PAGE = `<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,"></head>
  <body><main><h1>A page</h1><p>With a text.</p></main><script src="/page.js"></script></body></html>`;
const POLICY =
  "default-src 'none'; script-src 'self'; img-src 'self' data: http://elsewhere.example; connect-src *";

describe.skipIf(await isWithoutChromium())("the browser harness", () => {
  let launched: LaunchedChromium;
  let server: Server;
  let origin: string;
  /** The page's own script. */
  let script = "";

  beforeAll(async () => {
    launched = await launchChromium();
    server = createServer((request, response) => {
      const isScript = request.url === "/page.js";
      response.writeHead(request.url === "/missing" ? 404 : 200, {
        "content-type": isScript ? "text/javascript" : "text/html",
        "content-security-policy": POLICY,
      });
      response.end(isScript ? script : PAGE);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  });
  afterAll(async () => {
    await launched.close();
    server.close();
    server.closeAllConnections();
  });

  async function open(code: string): Promise<WatchedPage> {
    script = code;
    const watched = await watchPage(launched.newContext, origin);
    await watched.page.goto("/");
    return watched;
  }

  it("reports nothing for a harmless page", async () => {
    const { troubles, context, page } = await open("fetch('/'); console.log('Hello'); console.warn('Hm');");
    await page.waitForLoadState("networkidle");
    await context.close();
    expect(troubles()).toEqual([]);
    expect(launched.outside.take()).toEqual([]);
  });

  it.each([
    ["what a page says is an error", "console.error('A mistake')", /^console: A mistake/],
    ["an error that nobody catches", "throw new Error('A mistake')", /^error: Error: A mistake/],
    ["a promise that nobody catches", "Promise.reject(new Error('A mistake'))", /^error: Error: A mistake/],
    ["a file that is missing", "fetch('/missing')", /^console: Failed to load resource.*404/],
    ["a dialog", "alert('Boo')", /^dialog: alert Boo/],
    ["a window that opens", "window.open('/other')", /^window: /],
    ["a script of text", "setTimeout('1')", /^policy: script-src refused eval/],
    [
      "a script in an attribute",
      "document.body.insertAdjacentHTML('beforeend', '<p onclick=\"1\">')",
      /^policy: script-src-attr refused inline/,
    ],
    ["a style in an attribute", "document.body.setAttribute('style', 'x: y')", /^policy: style-src-attr/],
    [
      "a frame",
      "document.body.append(Object.assign(document.createElement('iframe'), { src: '/' }))",
      /^policy: frame-src/,
    ],
    ["a request to another host", "fetch('http://elsewhere.example/')", /^request: GET http:..elsewhere/],
    [
      "an image of another host",
      "new Image().src = 'http://elsewhere.example/a.png'",
      /^request: GET http:..elsewhere.example.a.png/,
    ],
  ])("reports %s", async (_name, code, trouble) => {
    const { troubles, context } = await open(code);
    await expect.poll(() => troubles().join("\n")).toMatch(new RegExp(trouble, "m"));
    await context.close();
    launched.outside.take();
  });

  it("reports a web socket, which causes no page event", async () => {
    const { context, troubles } = await open("new WebSocket('ws://elsewhere.example/')");
    const asked: string[] = [];
    const ask = (): string[] => {
      asked.push(...launched.outside.take());
      return asked;
    };
    await expect.poll(ask).toContain("CONNECT elsewhere.example:80");
    await expect.poll(() => troubles().length).toBe(1);
    await context.close();
  });

  it("does not report what a test expects", async () => {
    const { page, context, troubles, expectTrouble } = await open("");
    expectTrouble(/^console: Expected/);
    await page.evaluate("console.error('Expected'); console.error('Not so')");
    await expect.poll(troubles).toEqual([expect.stringMatching(/^console: Not so/)]);
    await context.close();
  });

  it("runs axe under a strict content security policy", async () => {
    const { page, context, troubles } = await open("");
    expect(await findViolations(page)).toEqual([]);
    await page.evaluate("document.querySelector('main').append(document.createElement('button'))");
    expect(await findViolations(page)).toEqual([expect.stringMatching(/^button-name: button: /)]);
    expect(troubles()).toEqual([]);
    await context.close();
  });

  it("runs axe in both colour schemes, after transitions", async () => {
    const { page, context, troubles } = await open("");
    await page.evaluate(`
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("* { transition: all 60s } html { background: light-dark(white, black); color-scheme: light dark }");
      document.adoptedStyleSheets.push(sheet);`);
    await settle(page);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    // Invisible on white only; then on black only.
    for (const [colour, scheme] of [
      ["#333", "dark"],
      ["#ccc", "light"],
    ] as const) {
      await page.evaluate(`document.querySelector("p").style.color = "${colour}"`);
      expect(await findViolationsInBothSchemes(page)).toEqual([
        expect.stringMatching(new RegExp(`^${scheme}: color-contrast: p: `)),
      ]);
    }
    expect(troubles()).toEqual([]);
    await context.close();
  });
});
