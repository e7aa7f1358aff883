// What axe finds wrong with a page as it is shown now.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

/** The small one: every page that is looked at has to read it. Its value would be carried back, all of axe with it. */
const AXE = `${readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8")}\nundefined;`;

/** WCAG 2.0 to 2.2 at the levels A and AA, and what axe's authors hold to be good practice. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The rules that a change of colours, and of nothing else, can break. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

interface AxeNode {
  readonly target: readonly unknown[];
  readonly failureSummary?: string;
}

interface AxePage {
  readonly axe: {
    run(
      options: object,
    ): Promise<{ violations: { id: string; nodes: AxeNode[] }[]; passes: { id: string }[] }>;
  };
}

/** Each violation as a line: the rule, where, and what to do. Throws when nothing was looked at. */
export function findViolations(page: Page): Promise<readonly string[]> {
  return violationsOf(page, { type: "tag", values: TAGS }, 5);
}

/** The same in both schemes of colours, each line with its scheme. The page is left in the dark one. */
export async function findViolationsInBothSchemes(page: Page): Promise<readonly string[]> {
  await settle(page);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await findViolations(page);
  await page.emulateMedia({ colorScheme: "dark" });
  // What is on the page, and where, is what it was.
  const dark = await violationsOf(page, { type: "rule", values: OF_COLOURS }, 1);
  return [...light.map((line) => `light: ${line}`), ...dark.map((line) => `dark: ${line}`)];
}

async function violationsOf(page: Page, runOnly: object, leastPasses: number): Promise<readonly string[]> {
  // Given by the debugger, to which the page's content security policy does not apply.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  // A colour on its way to another one is nobody's choice.
  await settle(page);
  const { violations, passes } = await page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as AxePage;
    // Of what is right one element of each rule is told, not all: half of the work is telling.
    const { violations, passes } = await axe.run({ runOnly, resultTypes: ["violations"] });
    return {
      violations: violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary ?? ""}`),
      ),
      passes: passes.length,
    };
  }, runOnly);
  // Where all that applies is violated, it has looked as well.
  if (passes + violations.length < leastPasses)
    throw new Error(`axe has looked at next to nothing: ${passes} rules apply`);
  return violations;
}

/**
 * Brings everything to where it moves, and has it stay there: from now on a change of the page is whole at once. Transitions are not
 * waited for, because one that has arrived sends those on their way that inherit from it, level by level. What turns forever goes on.
 */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const scope = globalThis as unknown as MovingPage;
    const { document, requestAnimationFrame } = scope;
    if (scope.stillness === undefined) {
      scope.stillness = new scope.CSSStyleSheet();
      scope.stillness.replaceSync("*, *::before, *::after { transition: none !important }");
      document.adoptedStyleSheets.push(scope.stillness);
    }
    const isMoving = (): boolean =>
      document
        .getAnimations()
        .some(
          ({ effect, playState }) =>
            playState === "running" && Number.isFinite(effect?.getComputedTiming().endTime ?? Number.NaN),
        );
    // What moves for longer than some seconds is looked at while it does.
    for (let still = 0, frame = 0; still < 3 && frame < 300; frame += 1) {
      still = isMoving() ? 0 : still + 1;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  });
}

interface StyleSheet {
  replaceSync(rules: string): void;
}

interface MovingPage {
  /** What holds the page still, once it is held. */
  stillness?: StyleSheet;
  readonly CSSStyleSheet: new () => StyleSheet;
  requestAnimationFrame(callback: (time: unknown) => void): void;
  readonly document: {
    readonly adoptedStyleSheets: StyleSheet[];
    getAnimations(): {
      readonly playState: string;
      readonly effect: { getComputedTiming(): { endTime: number } } | null;
    }[];
  };
}
