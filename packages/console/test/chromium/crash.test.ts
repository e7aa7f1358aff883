// The service crashes in the middle of an answer and restarts. The open page continues.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "@colloquy/client";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { Program } from "../../../server/test/black-box/server.ts";
import { RoundRobin } from "../../../server/test/round-robin.ts";
import {
  composer,
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  openConsole,
  say,
  sessionOf,
} from "./console-page.ts";
import { prepareConsole } from "./console-service.ts";

/** Message that the browser logs while the service is down. */
const UNANSWERED = /^console: Failed to load resource: net::ERR_/;
const isLeftOut = await isWithoutChromium();

let program: Program;
/** Gives the page a fixed address, because the service uses another port after each start. */
let balancer: RoundRobin;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  program = await Program.start();
  balancer = await RoundRobin.start();
  balancer.targets = [Number(new URL(program.url).port)];
});
afterAll(async () => {
  if (isLeftOut) return;
  await balancer.stop();
  await program.remove();
});

describe.skipIf(isLeftOut)("the console during a crash of the service", () => {
  const openPage = useChromium();

  it("continues the answer in the open page and completes it", async () => {
    const { page, expectTrouble } = await openPage(`http://127.0.0.1:${balancer.port}`);
    expectTrouble(UNANSWERED);
    await openConsole(page);
    await say(page, "count to 120");
    await expectAnswer(page, /\b12\b/);
    await program.stop("SIGKILL");
    await expectSeen(page.getByRole("status", { name: "Connection" }).getByText("The connection is lost"));
    expect(await composer(page).isEditable()).toBe(true);
    await program.run();
    balancer.targets = [Number(new URL(program.url).port)];
    // Otherwise the next retry may be 30 seconds away.
    await page.evaluate(() => dispatchEvent(new Event("online")));
    const steps = [0, 20, 40, 60, 80, 100].map((before) =>
      Array.from({ length: 20 }, (_, index) => before + index + 1).join(" "),
    );
    for (const step of steps) await expectAnswer(page, new RegExp(`\\b${step}\\b`));
    await expectRest(page);
    await expectGone(page.getByRole("status", { name: "Connection" }).getByText(/./));
    const { messages } = await createClient({ baseUrl: program.url }).getState(await sessionOf(page));
    expect(messages.map(({ content }) => content)).toEqual(["count to 120", steps.join("\n\n")]);
  });
});
