import { expect, it } from "vitest";
import { installedMegabytes, MOST_MEGABYTES } from "./installations.ts";

it("keeps `npm ci` for contributors within 650 MB, excluding Node", async () => {
  expect(await installedMegabytes()).toBeLessThanOrEqual(MOST_MEGABYTES["npm ci"]);
});
