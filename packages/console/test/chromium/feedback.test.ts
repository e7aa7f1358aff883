// Opinions on answers.

import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { answers, expectAnswer, expectGone, expectRest, say, sessionOf } from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

describe.skipIf(await isWithoutChromium())("the console", () => {
  const kept = useSharedConsole();

  /** Answers a question. Returns the two buttons, and a function that reads the stored feedback. */
  async function answered() {
    const { page } = await kept.newChat();
    await say(page, "How tall is it?");
    (await kept.service.model.next()).say("330 m.").finish();
    await expectAnswer(page, "330 m.");
    await expectRest(page);
    const session = await sessionOf(page);
    const stored = async () => {
      const answer = await fetch(`${kept.service.url}/api/state`, { headers: { "x-session-id": session } });
      const { messages } = (await answer.json()) as { readonly messages: readonly { feedback?: object }[] };
      return messages.at(-1)?.feedback;
    };
    const button = (name: string) => answers(page).getByRole("button", { name, exact: true });
    return { page, stored, good: button("Good answer"), bad: button("Bad answer") };
  }

  it("stores a rating and a comment on an answer, and removes them", async () => {
    const { page, stored, good, bad } = await answered();
    await good.click();
    await expect.poll(stored).toMatchObject({ score: 1 });
    await expect.poll(() => good.getAttribute("aria-pressed")).toBe("true");
    await bad.click();
    await expect.poll(stored).toMatchObject({ score: -1 });
    const comment = answers(page).getByRole("textbox", { name: "What could be better?" });
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    const left = async (locator: Locator): Promise<number> => (await locator.boundingBox())!.x;
    expect(await left(comment)).toBe(await left(answers(page).getByText("330 m.")));
    await comment.fill("The unit is missing.");
    await page.keyboard.press("Enter");
    await expect.poll(stored).toMatchObject({ score: -1, comment: "The unit is missing." });
    await expectGone(comment);
    await page.reload();
    await expectAnswer(page, "330 m.");
    await expect.poll(() => bad.getAttribute("aria-pressed")).toBe("true");
    await bad.click();
    await expect.poll(stored).toBeUndefined();
  });

  // wso2-open-operations/cs-tools#1401
  it("sends one opinion at a time, so that the later one is kept", async () => {
    const { page, stored, good, bad } = await answered();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let sent = 0;
    await page.route("**/feedback", async (route) => {
      sent += 1;
      await released;
      await route.continue();
    });
    await good.click();
    await bad.click();
    // A second request would be sent before this one.
    await page.evaluate(async () => await (await fetch("healthz")).text());
    expect(sent).toBe(1);
    release();
    await expect.poll(() => bad.getAttribute("aria-pressed")).toBe("true");
    expect(await stored()).toMatchObject({ score: -1 });
    await page.unroute("**/feedback");
  });
});
