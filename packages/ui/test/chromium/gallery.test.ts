// Checks every component in every state with axe, in both themes, and for horizontal overflow.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { build, preview, type PreviewServer } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildElement } from "../../build/build-package.ts";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";

const CONFIG = join(import.meta.dirname, "../../gallery/vite.config.ts");
const SIZES = [
  ["desk", { width: 1280, height: 900 }],
  ["phone", { width: 390, height: 844 }],
  ["narrowest", { width: 320, height: 700 }],
] as const;
/** Directory for screenshots, if set. */
const PICTURES = process.env["COLLOQUY_PICTURES"];

describe.skipIf(await isWithoutChromium())("the gallery", () => {
  const open = useChromium();
  let folder: string;
  let server: PreviewServer;
  let url: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "colloquy-gallery-"));
    const settings = {
      configFile: CONFIG,
      logLevel: "warn",
      build: { outDir: folder, emptyOutDir: true },
    } as const;
    await build(settings);
    await buildElement(join(folder, "element"));
    server = await preview({ ...settings, preview: { port: 0, host: "127.0.0.1" } });
    url = new URL(server.resolvedUrls?.local[0] ?? "").origin;
  });
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  it.each(SIZES)(
    "passes axe in light and dark, and scrolls no page sideways (%s)",
    async (name, viewport) => {
      const { page } = await open(url, { viewport });
      await page.goto("/");
      await page.locator("math").first().waitFor();
      await page.locator(".hljs-keyword").first().waitFor();
      expect(await page.locator("section.state").count()).toBeGreaterThan(20);
      expect(await findViolationsInBothSchemes(page)).toEqual([]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width).toBeLessThanOrEqual(viewport.width);
      if (PICTURES === undefined) return;
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(PICTURES, `gallery-${name}-${colorScheme}.png`), fullPage: true });
      }
    },
  );

  it("makes the name of a page bold, and centres a greeting of its own", async () => {
    const { page } = await open(url, { viewport: SIZES[0][1] });
    await page.goto("/?page");
    const styleOf = (text: string) =>
      page.getByText(text).evaluate((element) => {
        const { fontWeight, textAlign } = getComputedStyle(element);
        return { fontWeight, textAlign };
      });
    expect((await styleOf("Harbour")).fontWeight).toBe("640");
    expect((await styleOf("How can we help you?")).textAlign).toBe("center");
  });

  it("gives a selected conversation the page's accent", async () => {
    const { page } = await open(url, { viewport: SIZES[0][1] });
    await page.goto("/");
    const selected = () =>
      page.evaluate(() => {
        const probe = document.body.appendChild(document.createElement("i"));
        probe.style.background = "var(--cq-selected)";
        return getComputedStyle(probe).backgroundColor;
      });
    const before = await selected();
    await page.addStyleTag({ content: ":root { --cq-accent: #7c3aed }" });
    expect(await selected()).not.toBe(before);
  });

  it("renders formulas as MathML, and an invalid one as its source", async () => {
    const { page } = await open(url, { viewport: SIZES[0][1] });
    await page.goto("/");
    const formulas = page.getByRole("region", { name: "Markdown: mathematics" });
    await formulas.locator("math").first().waitFor();
    expect(await formulas.locator("math").count()).toBe(3);
    expect(await formulas.locator("code").allInnerTexts()).toEqual(["\\(\\frac{1\\)"]);
    expect(await formulas.innerText()).toContain("It costs $5, not $6.");
  });

  it("gives a list in Hebrew after a paragraph in English its markers on the right", async () => {
    // t3code#7126
    const { page } = await open(url, { viewport: SIZES[0][1] });
    await page.goto("/");
    const mixed = page.getByRole("region", { name: "Markdown: both directions" });
    const directionOf = (selector: string): Promise<string> =>
      mixed.locator(selector).evaluate((element) => getComputedStyle(element).direction);
    expect(await directionOf(".cq-markdown")).toBe("ltr");
    expect(await directionOf("ul")).toBe("rtl");
    expect(await directionOf("ol")).toBe("ltr");
    expect(await directionOf("blockquote")).toBe("rtl");
  });

  it("paints no formula over what stands beside the text", async () => {
    const { page } = await open(url, { viewport: SIZES[0][1] });
    await page.goto("/");
    const text = page
      .getByRole("region", { name: "Markdown: a formula out of bounds" })
      .locator(".cq-markdown");
    await text.locator("math").first().waitFor({ state: "attached" });
    const found = await text.evaluate((element) => {
      element.style.marginInlineStart = "300px";
      element.scrollIntoView({ block: "center" });
      const { left } = element.getBoundingClientRect();
      const outside = [...element.querySelectorAll("math mtext")]
        .map((part) => part.getBoundingClientRect())
        .filter((part) => part.width > 0 && part.right < left - 10 && part.left > 0);
      const seen = outside.filter((part) =>
        element.contains(document.elementFromPoint(part.left + part.width / 2, part.top + part.height / 2)),
      );
      return { outside: outside.length, seen: seen.length };
    });
    expect(found).toEqual({ outside: 1, seen: 0 });
  });

  /** Opens a page with the element; its requests fail, because there is no service. */
  async function openElement(options: BrowserContextOptions = {}): Promise<{ page: Page; message: Locator }> {
    const { page, expectTrouble } = await open(url, { viewport: SIZES[0][1], ...options });
    expectTrouble(/./);
    await page.goto("/element/page.html");
    await page.setContent(
      `<script type="module" src="/element/element.js"></script><colloquy-chat session="a" url="${url}"></colloquy-chat>`,
    );
    const message = page.getByRole("textbox", { name: "Message", exact: true });
    await message.waitFor();
    return { page, message };
  }

  it("keeps what is typed into the element from shortcuts of the page, but not Escape", async () => {
    // context7#3189, react-hotkeys-hook#1161
    const { page, message } = await openElement();
    await page.evaluate(() => {
      const keys: string[] = [];
      Object.assign(globalThis, { keys });
      document.addEventListener("keydown", ({ key }) => keys.push(key));
      document.addEventListener("keyup", ({ key }) => keys.push(`${key} up`));
    });
    await message.click();
    await page.keyboard.type("fs/");
    await page.keyboard.press("Escape");
    expect(await message.inputValue()).toBe("fs/");
    expect(await page.evaluate("keys")).toEqual(["Escape", "Escape up"]);
  });

  it("keeps the state of the element when the page moves it, and ends it when the page removes it", async () => {
    // carbon-ai-chat#2186, shinychat#121
    const { page, message } = await openElement();
    await message.evaluate((field) => field.setAttribute("data-is-same", ""));
    await page.evaluate(() => {
      const chat = document.querySelector("colloquy-chat")!;
      document.body.append(document.createElement("main"));
      document.querySelector("main")!.append(chat);
    });
    await message.fill("Hello");
    expect(await message.getAttribute("data-is-same")).toBe("");
    const left = await page.evaluate(async () => {
      const chat = document.querySelector("colloquy-chat")!;
      chat.remove();
      await Promise.resolve();
      return chat.shadowRoot?.querySelectorAll("textarea").length;
    });
    expect(left).toBe(0);
  });

  it("starts a new line with Enter on a touch screen, whose keyboard has no Shift+Enter", async () => {
    // hermes-webui#269, clay#68
    const { page, message } = await openElement({ viewport: SIZES[1][1], hasTouch: true, isMobile: true });
    await message.click();
    await page.keyboard.type("a");
    await page.keyboard.press("Enter");
    await page.keyboard.type("b");
    expect(await message.inputValue()).toBe("a\nb");
  });
});
