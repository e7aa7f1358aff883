// The service dies in the middle of an answer and comes back: the page that is open goes on.

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

/** What the page says and the browser logs while nobody is there to answer. */
const UNANSWERED = /^console: Failed to load resource: net::ERR_/;
const isLeftOut = await isWithoutChromium();

let program: Program;
/** Under one address, because the program takes another port each time. */
let balancer: RoundRobin;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  program = await Program.start();
  balancer = await RoundRobin.start();
  balancer.targets = [Number(new URL(program.url).port)];
}, 120_000);
afterAll(async () => {
  if (isLeftOut) return;
  await balancer.stop();
  await program.remove();
});

describe.skipIf(isLeftOut)("the console when the service dies", { timeout: 90_000 }, () => {
  const openPage = useChromium();

  it("goes on with the answer in the open page, which is whole in the end", async () => {
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
    const whole = Array.from({ length: 120 }, (_, number) => number + 1).join(" ");
    await expectAnswer(page, new RegExp(`^${whole}`));
    await expectRest(page);
    await expectGone(page.getByRole("status", { name: "Connection" }).getByText(/./));
    const { messages } = await createClient({ baseUrl: program.url }).getState(await sessionOf(page));
    expect(messages.map(({ content }) => content)).toEqual(["count to 120", whole]);
  });
});
