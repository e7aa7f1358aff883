import { expect, it } from "vitest";
import { addressOf } from "./shared-programs.ts";

it("starts a program once for concurrent callers", async () => {
  const [first, second] = await Promise.all([addressOf("service"), addressOf("service")]);
  expect(second).toBe(first);
  expect((await fetch(`${first}/healthz`)).status).toBe(200);
});

it("reports a program that does not start", async () => {
  await expect(addressOf("nothing" as "service")).rejects.toThrow("The shared nothing did not start");
});
