// The page of the examples in Chromium.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import type { Program } from "../black-box/server.ts";
import { EXPRESS, startColloquy, YourServer } from "./examples.ts";

describe.skipIf(await isWithoutChromium())("the page of the examples", () => {
  const open = useChromium();
  let program: Program;
  let server: YourServer;
  beforeAll(async () => {
    const started = await startColloquy();
    program = started.program;
    server = await YourServer.start(EXPRESS, program, started.key);
  });
  afterAll(async () => {
    await server.stop();
    await program.remove();
  });

  it("logs in, streams, stops, asks for approval, and shows the conversation again after a reload", async () => {
    const { page, expectTrouble } = await open(server.url);
    // Before the login.
    expectTrouble(/status of 401/);
    await page.goto("/");
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const say = async (text: string) => {
      await page.getByLabel("Message").fill(text);
      await button("Send").click();
    };
    const answer = () => page.locator("li.agent").last().innerText();
    await page.getByLabel("Name").fill("ada");
    await page.getByLabel("Password").fill("engine-no-1");
    await button("Log in").click();
    await say("count to 200");
    await expect.poll(answer).toMatch(/^1 2 3/);
    await button("Stop").click();
    await button("Stop").waitFor({ state: "hidden" });
    expect(await answer()).not.toMatch(/200$/);
    await say("what is 12 * 7?");
    await expect
      .poll(() => page.locator("#actions").innerText())
      .toMatch(/^May I run calculator\? \{"expression":"12 \* 7"\} /);
    await button("Approve").click();
    await expect.poll(answer).toContain("84");
    const whole = await page.locator("#messages").innerText();
    await page.reload();
    await expect.poll(() => page.locator("#messages").innerText()).toBe(whole);
    await button("Log out").click();
    await button("Log in").waitFor();
    expect(await page.getByLabel("Message").isVisible()).toBe(false);
  });
});
