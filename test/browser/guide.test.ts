// The built guide in a browser, as the service serves it. Every test fails on errors, violations of the policy
// and requests to other hosts.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startEdges, type TestEdge } from "../../packages/server/src/http/testing/edge.ts";
import { TREE } from "../../site/tree.ts";
import { findViolationsInBothSchemes } from "./accessibility.ts";
import { isWithoutChromium } from "./chromium.ts";
import { useChromium } from "./use-chromium.ts";

const { testEdge } = await startEdges();

/** Output of `npm run site`. */
const BUILT = join(import.meta.dirname, "../../site/dist");
const isLeftOut = (await isWithoutChromium()) || !existsSync(join(BUILT, "index.html"));

describe.skipIf(isLeftOut)("the guide", () => {
  const openPage = useChromium();
  let edge: TestEdge;
  let origin: string;
  beforeAll(async () => {
    edge = testEdge({}, { pages: { console: BUILT, guide: BUILT } });
    origin = await edge.app.listen({ port: 0, host: "127.0.0.1" });
  });
  afterAll(() => edge.app.close());

  /** Buttons have no effect before Vue has hydrated the page, and marked its element. */
  async function hydrated(page: Page): Promise<void> {
    const isHydrated = () => page.evaluate("document.querySelector('#app').__vue_app__ !== undefined");
    await expect.poll(isHydrated).toBe(true);
  }

  it("finds a section by a word of its text and opens it", async () => {
    const { page } = await openPage(origin);
    await page.goto("/guide/");
    await hydrated(page);
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("searchbox").fill("rotate-master");
    await page.getByRole("option", { name: "The master key" }).first().click();
    await page.getByRole("heading", { name: "The master key" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/guide/operations");
  });

  it("is dark if the reader prefers that, and can be switched", async () => {
    const { page } = await openPage(origin, { colorScheme: "dark" });
    await page.goto("/guide/");
    await hydrated(page);
    const isDark = (): Promise<boolean> =>
      page
        .locator("html.dark")
        .count()
        .then((count) => count === 1);
    expect(await isDark()).toBe(true);
    const background = await page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(background).toBe("rgb(27, 27, 31)");
    await page.getByRole("switch").first().click();
    await expect.poll(isDark).toBe(false);
  });

  it("shows every page, with its pictures and colours, without an error", async () => {
    const { page } = await openPage(origin);
    for (const { file } of TREE.flatMap((group) => group.pages)) {
      await page.goto(`/guide/${file.replace(/(?:index)?\.md$/, "")}`);
      await hydrated(page);
      expect([file, await page.getByRole("heading", { level: 1 }).count()]).toEqual([file, 1]);
      const broken = await page.evaluate(
        "[...document.images].filter((image) => image.naturalWidth === 0).map((image) => image.src)",
      );
      expect(broken).toEqual([]);
    }
  });

  it("navigates without reloading, and shows a page for unknown addresses", async () => {
    const { page, expectTrouble } = await openPage(origin);
    await page.goto("/guide/");
    await page.getByRole("navigation").getByRole("link", { name: "Configuration" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Configuration" }).waitFor();
    expectTrouble(/404/);
    await page.goto("/guide/nothing");
    await page.getByText("PAGE NOT FOUND").waitFor();
  });

  it("has no violation of accessibility rules on its pages", async () => {
    const { page } = await openPage(origin);
    await page.goto("/guide/api");
    const violations = await findViolationsInBothSchemes(page);
    // The theme's search button shows its key beside its name.
    expect(violations.filter((line) => !/label-content-name-mismatch: .DocSearch/.test(line))).toEqual([]);
  });
});
