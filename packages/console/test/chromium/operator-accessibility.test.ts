// Accessibility of the operators' area: axe, and the narrowest screens.

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { expectGone, expectSeen } from "./console-page.ts";
import { DESK, useOperator } from "./use-operator.ts";

const PHONE = { width: 390, height: 844 };
const NARROW = { width: 320, height: 700 };
const VIEWS = ["overview", "sessions", "apps", "keys", "usage", "latency", "feedback", "audit"] as const;
const isLeftOut = await isWithoutChromium();

describe.skipIf(isLeftOut)("the operators' area with something of everything", () => {
  const operator = useOperator();
  const { open } = operator;

  async function fill(): Promise<string> {
    const id = randomUUID();
    await operator.service.client.sendMessage(id, "what is 12 * 7", { wait: true });
    await operator.service.client.renameThread(
      id,
      `A title that is ${"very ".repeat(15)}long, ${"and".repeat(30)}`,
    );
    const [, answer] = (await operator.service.client.getState(id)).messages;
    const comment = `A comment that is ${"very ".repeat(60)}long, ${"and".repeat(30)}`;
    await operator.service.client.giveFeedback(id, answer!.id, { score: -1, comment, tags: ["too long"] });
    await operator.admin.createKey({
      apps: ["support", "trips"],
      name: "The web shop of somebody with a long name",
    });
    return id;
  }

  it.each([
    ["desk", DESK],
    ["phone", PHONE],
  ] as const)("passes axe in light and dark (%s)", async (_name, viewport) => {
    const id = await fill();
    const page = await open("overview", { viewport });
    for (const view of [...VIEWS, `sessions/${id}`]) {
      await page.goto(`/#/operate/${view}`);
      await expectSeen(page.getByRole("heading", { level: 2 }));
      await expectGone(page.getByText("Loading…"));
      // The table of latencies is already open: all turns ended in one hour.
      if (view === "usage") await page.getByText("The same as a table").click();
      const found = await findViolationsInBothSchemes(page);
      expect(found.map((violation) => `${view}: ${violation}`)).toEqual([]);
    }
    await page.goto("/#/operate/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await expectSeen(page.getByRole("checkbox", { name: "support" }));
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
  });

  it("scrolls only tables sideways, down to 320 pixels", async () => {
    const id = await fill();
    const page = await open("overview", { viewport: NARROW });
    for (const view of [...VIEWS, `sessions/${id}`]) {
      await page.goto(`/#/operate/${view}`);
      await expectSeen(page.getByRole("heading", { level: 2 }));
      await expectGone(page.getByText("Loading…"));
      const tooWide = await page.evaluate(findTooWide);
      expect(tooWide.map((element) => `${view}: ${element}`)).toEqual([]);
    }
  });
});

/** Returns elements beyond the right edge that no table or tab row scrolls to. Runs in the page. */
function findTooWide(): string[] {
  const { document, innerWidth } = globalThis as unknown as Measured;
  // Tables scroll by themselves.
  const pages = Array.from(document.querySelectorAll("html, main, main [aria-label=Report]"))
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ tagName, scrollWidth }) => `${tagName} scrolls to ${scrollWidth}`);
  return Array.from(document.querySelectorAll("main *"))
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
    .filter((element) => element.closest("table, nav, .visually-hidden, .uplot") === null)
    .map((element) => `${element.tagName} ${element.className}: ${element.textContent?.slice(0, 40)}`)
    .concat(pages);
}

interface Measured {
  readonly innerWidth: number;
  readonly document: {
    querySelectorAll(selector: string): Iterable<{
      readonly tagName: string;
      readonly className: string;
      readonly scrollWidth: number;
      readonly clientWidth: number;
      readonly textContent: string | null;
      closest(selector: string): unknown;
      getBoundingClientRect(): { readonly right: number };
    }>;
  };
}
