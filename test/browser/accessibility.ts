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
}

/** Each violation as a line: the rule, where, and what to do. Throws when nothing was looked at. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  // Given by the debugger, to which the page's content security policy does not apply.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  // A colour on its way to another one is nobody's choice.
  await settle(page);
  const { violations, passes } = await page.evaluate(async (tags) => {
    const { axe } = globalThis as unknown as AxePage;
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

/**
 * Waits until everything has come to where it moves. What has arrived may send others on their way, which inherit from it. What turns
 * forever is not waited for.
 */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const { document, requestAnimationFrame } = globalThis as unknown as MovingPage;
    const isMoving = (): boolean =>
      document
        .getAnimations()
        .some(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime ?? Number.NaN));
    // What moves for longer than some seconds is looked at while it does.
    for (let still = 0, frame = 0; still < 3 && frame < 300; frame += 1) {
      still = isMoving() ? 0 : still + 1;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  });
}

interface MovingPage {
  requestAnimationFrame(callback: (time: unknown) => void): void;
  readonly document: {
    getAnimations(): {
      effect: { getComputedTiming(): { endTime: number } } | null;
    }[];
  };
}
