// Runs axe on a page as it is shown now.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

/**
 * The minified build, because every tested page has to parse it. Wrapped so that axe itself is not serialized
 * as the result.
 */
const AXE = `${readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8")}\nundefined;`;

/** WCAG 2.0 to 2.2, levels A and AA, and axe's best practices. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The rules whose outcome depends on colours alone. */
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

/** Returns one line per violation: rule, element, advice. Throws if nothing was checked. */
export function findViolations(page: Page): Promise<readonly string[]> {
  return violationsOf(page, { type: "tag", values: TAGS }, 5);
}

/** The same in both colour schemes; each line names its scheme. Leaves the page in the dark one. */
export async function findViolationsInBothSchemes(page: Page): Promise<readonly string[]> {
  await settle(page);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await findViolations(page);
  await page.emulateMedia({ colorScheme: "dark" });
  // Structure and layout are unchanged: only colours need a second check.
  const dark = await violationsOf(page, { type: "rule", values: OF_COLOURS }, 1);
  return [...light.map((line) => `light: ${line}`), ...dark.map((line) => `dark: ${line}`)];
}

async function violationsOf(page: Page, runOnly: object, leastPasses: number): Promise<readonly string[]> {
  // Injected by the debugger, to which the page's content security policy does not apply.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  // Wait for transitions, whose intermediate colours do not count.
  await settle(page);
  const { violations, passes } = await page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as AxePage;
    // Report only one passing element per rule, because reporting takes half of the time.
    const { violations, passes } = await axe.run({ runOnly, resultTypes: ["violations"] });
    return {
      violations: violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary ?? ""}`),
      ),
      passes: passes.length,
    };
  }, runOnly);
  // If all applicable rules are violated, axe has checked the page as well.
  if (passes + violations.length < leastPasses)
    throw new Error(`axe has checked almost nothing: ${passes} rules apply`);
  return violations;
}

/**
 * Completes all animations and disables transitions from now on. Waiting for transitions is not enough: a
 * finished one starts those of inheriting elements, level by level. Infinite animations continue.
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
    // Animations longer than a few seconds are checked while they run.
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
  /** The style sheet that disables transitions, once inserted. */
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
