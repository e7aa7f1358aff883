// Opens the pages of the examples in Chromium: `<colloquy-chat>` behind a login.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildElement } from "../../../ui/build/build-package.ts";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import type { Program } from "../black-box/server.ts";
import { ALL, startColloquy, YourServer } from "./examples.ts";

const isLeftOut = await isWithoutChromium();

beforeAll(async () => {
  if (!isLeftOut) await buildElement(join(import.meta.dirname, "../../../ui/dist"));
});

for (const example of ALL) {
  describe.skipIf(isLeftOut || example.isMissing)(`the page of examples/${example.name}`, () => {
    const open = useChromium();
    let program: Program;
    let server: YourServer;
    beforeAll(async () => {
      const started = await startColloquy();
      program = started.program;
      server = await YourServer.start(example, program, started.key);
    });
    afterAll(async () => {
      await server.stop();
      await program.remove();
    });

    it("logs in, streams, stops, asks for approval, and shows the conversation again after a reload", async () => {
      const { page, expectTrouble } = await open(server.url, { reducedMotion: "reduce" });
      // Before the login.
      expectTrouble(/status of 401/);
      await page.goto("/");
      const button = (name: string) => page.getByRole("button", { name, exact: true });
      const say = async (text: string) => {
        await page.getByLabel("Message", { exact: true }).fill(text);
        await button("Send").click();
      };
      const answer = () => page.getByRole("article", { name: "Assistant" }).last().innerText();
      await page.getByLabel("Name").waitFor();
      expect(await findViolationsInBothSchemes(page)).toEqual([]);
      await page.getByLabel("Name").fill("ada");
      await page.getByLabel("Password").fill("engine-no-1");
      await button("Log in").click();
      await button("Count to 50").waitFor();
      await say("count to 500");
      await expect.poll(answer).toMatch(/^1 2 3/);
      await button("Stop").click();
      await button("Stop").waitFor({ state: "hidden" });
      await expect.poll(answer).toMatch(/Stopped$/);
      expect(await answer()).not.toMatch(/\b500\b/);
      await say("what is 12 * 7?");
      await page.getByRole("heading", { name: "Run calculator?" }).waitFor();
      expect(await findViolationsInBothSchemes(page)).toEqual([]);
      await button("Approve").click();
      await expect.poll(answer).toContain("84");
      expect(await button("Count to 50").isVisible()).toBe(false);
      const sent = await page.getByRole("article", { name: "You" }).count();
      // Safari sends the Enter that ends a composition after `compositionend`, with the key code 229.
      await page.getByLabel("Message", { exact: true }).fill("日本");
      for (const isComposing of [false, true])
        await page.getByLabel("Message", { exact: true }).dispatchEvent("keydown", {
          key: "Enter",
          keyCode: 229,
          isComposing,
          bubbles: true,
          composed: true,
          cancelable: true,
        });
      expect([
        await page.getByLabel("Message", { exact: true }).inputValue(),
        await page.getByRole("article", { name: "You" }).count(),
      ]).toEqual(["日本", sent]);
      await page.reload();
      await expect.poll(answer).toContain("84");
      expect(await page.getByRole("article", { name: "You" }).count()).toBe(sent);
      // "Answer again" and edits must replace messages rather than add them.
      await button("Answer again").last().click();
      await page.getByRole("heading", { name: "Run calculator?" }).waitFor();
      await button("Approve").click();
      await expect.poll(answer).toContain("84");
      await button("Edit message").last().click();
      await page.getByLabel("Edited message").fill("hello");
      await page.getByLabel("Edited message").press("Enter");
      await expect.poll(answer).not.toContain("84");
      await expect.poll(() => page.getByRole("article", { name: "You" }).count()).toBe(sent);
      const list = page.getByRole("navigation", { name: "Main" });
      await page.getByRole("link", { name: "New chat" }).first().click();
      await button("Count to 50").waitFor();
      await list.getByRole("link", { name: "count to 500" }).click();
      await expect.poll(() => page.getByRole("article", { name: "You" }).count()).toBe(sent);
      await button("Log out").click();
      await button("Log in").waitFor();
      expect(await page.getByLabel("Message", { exact: true }).isVisible()).toBe(false);
    });
  });
}
