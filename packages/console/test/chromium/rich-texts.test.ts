// Formulas and highlighted code under the console's Content-Security-Policy, which forbids inline styles and
// markup from text.

import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { expectAnswer, expectSeen, say } from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

describe.skipIf(await isWithoutChromium())("answers in the console", () => {
  const kept = useSharedConsole();

  it("show formulas and highlighted code, whose renderers load from the service", async () => {
    const { page } = await kept.newChat();
    await say(page, "Go on");
    const answer =
      "$\\color{red} \\frac{a}{b}$ costs $5 or $6.\n\n```ts src/a.ts\nconst a = 1;\n```\n\n```diff\n+ b\n```";
    (await kept.service.model.next()).say(answer).finish();
    const log = page.getByRole("log");
    await log.locator("math mfrac").waitFor();
    await log.locator(".hljs-keyword").waitFor();
    await log.locator(".hljs-addition").waitFor();
    expect(await log.innerText()).toContain("costs $5 or $6.");
    await page.getByRole("button", { name: "Wrap lines" }).first().click();
    expect(await log.locator("pre").first().getAttribute("class")).toBe("cq-markdown-wrapped");
  });

  it("collapse consecutive calls to one line once all have succeeded, except calls that a person decided", async () => {
    const { page } = await kept.newChat();
    const group = page.locator("details.cq-tool-group");
    await say(page, "Go on");
    const asking = await kept.service.model.next();
    for (const expression of ["1 + 1", "2 + 2"]) asking.callTool("calculator", { expression });
    asking.finish("tool-calls");
    await group.getByText("Using 2 tools").waitFor();
    for (let left = 2; left > 0; left -= 1) {
      await expect.poll(() => page.getByRole("button", { name: "Approve" }).count()).toBe(left);
      await page.getByRole("button", { name: "Approve" }).first().click();
    }
    const next = await kept.service.model.next();
    for (const value of ["one", "two", "three"])
      next.say(value === "one" ? "And then:" : "").callTool("echo", { value });
    next.finish("tool-calls");
    (await kept.service.model.next()).say("Done.").finish();
    await expectAnswer(page, "Done.");
    await group
      .nth(0)
      .getByText(/^Used 2 tools, /)
      .waitFor();
    await group
      .nth(1)
      .getByText(/^Used 3 tools, /)
      .waitFor();
    const isOpen = (at: number) => group.nth(at).evaluate((element) => (element as HTMLDetailsElement).open);
    expect([await isOpen(0), await isOpen(1)]).toEqual([true, false]);
    await group.nth(1).locator("summary").first().click();
    await expectSeen(group.nth(1).getByText("echo").first());
  });

  it("never show code in one colour again once its colours are loaded", async () => {
    // streamdown#402, lobe-ui#294
    const { page } = await kept.newChat();
    await say(page, "Go on");
    (await kept.service.model.next()).say("```ts\nconst a = 1;\n```").finish();
    const keyword = page.getByRole("log").locator(".hljs-keyword");
    await keyword.waitFor();
    const address = page.url();
    await page.evaluate(() => {
      const plain: string[] = [];
      Object.assign(globalThis, { plain });
      new MutationObserver(() => {
        for (const code of document.querySelectorAll("pre code"))
          if (code.querySelector("span") === null) plain.push(code.textContent);
      }).observe(document, { childList: true, subtree: true });
      globalThis.location.hash = "#/";
    });
    await keyword.waitFor({ state: "detached" });
    await page.evaluate((hash) => void (globalThis.location.hash = hash), new URL(address).hash);
    await keyword.waitFor();
    expect(await page.evaluate("plain")).toEqual([]);
  });
});
