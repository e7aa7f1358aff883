// Images in answers, which load only from the hosts and the proxy that the App allows.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { answers, expectSeen, openConsole } from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";

const isLeftOut = await isWithoutChromium();
/** One green pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg==",
  "base64",
);
const ANSWER = `![allowed](https://images.example.com/a.png)
![by the proxy](http://elsewhere.example/b.png)
![missing](https://images.example.com/missing.png)`;

let service: ConsoleService;
beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  const images = { hosts: ["images.example.com"], proxy: "https://proxy.example/?url={url}" };
  service = await serveConsole({ branding: { images } });
});
afterAll(() => service?.stop());

describe.skipIf(isLeftOut)("an image in an answer", () => {
  const openPage = useChromium();

  it("loads from allowed hosts and through the proxy; one that cannot be loaded becomes a link", async () => {
    const id = crypto.randomUUID();
    const answered = service.direct.sendMessage(id, "Pictures?", { wait: true });
    (await service.model.next()).say(ANSWER).finish();
    await answered;
    const { page, expectTrouble } = await openPage(service.url);
    expectTrouble(/images\.example\.com|proxy\.example|404/);
    const requested: string[] = [];
    await page.route(/^https:\/\/(images\.example\.com|proxy\.example)\//, async (route) => {
      const url = route.request().url();
      requested.push(url);
      expect(route.request().headers()["referer"]).toBeUndefined();
      if (url.includes("missing")) await route.fulfill({ status: 404 });
      else await route.fulfill({ contentType: "image/png", body: PIXEL });
    });
    await openConsole(page, id);
    await expectSeen(answers(page).getByRole("link", { name: "Picture at images.example.com: missing" }));
    const loaded = (name: string) => () =>
      answers(page)
        .getByRole("img", { name })
        .evaluate((image) => (image as HTMLImageElement).naturalWidth);
    await expect.poll(loaded("allowed")).toBe(1);
    await expect.poll(loaded("by the proxy")).toBe(1);
    expect(requested.toSorted()).toEqual([
      "https://images.example.com/a.png",
      "https://images.example.com/missing.png",
      "https://proxy.example/?url=http%3A%2F%2Felsewhere.example%2Fb.png",
    ]);
  });
});
