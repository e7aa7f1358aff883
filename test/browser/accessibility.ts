// What axe finds wrong with a page as it is shown now.

import axe from "axe-core";
import type { Page } from "playwright-core";

/** WCAG 2.0 to 2.2 at the levels A and AA, and what axe's authors hold to be good practice. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

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
  readonly document: { getAnimations(): { finished: Promise<unknown>; effect: unknown }[] };
}

/** Each violation as a line: the rule, where, and what to do. Throws when nothing was looked at. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  // Given by the debugger, to which the page's content security policy does not apply.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(async (tags) => {
    const { axe, document } = globalThis as unknown as AxePage;
    // A colour on its way to another one is nobody's choice. What turns forever is not waited for.
    const ends = document.getAnimations().filter(({ effect }) => {
      const timing = (effect as { getComputedTiming(): { endTime: number } } | null)?.getComputedTiming();
      return Number.isFinite(timing?.endTime);
    });
    await Promise.allSettled(ends.map(({ finished }) => finished));
    const { violations, passes } = await axe.run({ runOnly: { type: "tag", values: tags } });
    return {
      violations: violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary ?? ""}`),
      ),
      passes: passes.length,
    };
  }, TAGS);
  if (passes < 5) throw new Error(`axe has looked at next to nothing: ${passes} rules apply`);
  return violations;
}
