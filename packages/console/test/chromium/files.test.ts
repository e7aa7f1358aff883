// Uploads, displays and downloads files in the console.

import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileChooser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { expectAnswer, expectGone, expectRest, sessionOf } from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const PNG = { name: "dot.png", mimeType: "image/png", buffer: FILES.png };
const CSV = { name: "tea.csv", mimeType: "text/csv", buffer: FILES.text };

describe.skipIf(await isWithoutChromium())("the console", () => {
  const kept = useSharedConsole();

  let folder: string;
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "colloquy-files-"))));
  afterAll(() => rm(folder, { recursive: true }));

  /** Writes a file that is larger than the buffers of a connection, and returns its path. */
  async function largeFile(name: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, Buffer.alloc(16_000_000, "a"));
    return path;
  }

  async function picked(files: Parameters<FileChooser["setFiles"]>[0], isRefused = false) {
    const { page, expectTrouble } = await kept.newChat();
    if (isRefused) expectTrouble(/status of 415/);
    const choosing = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await (await choosing).setFiles(files);
    const list = page.getByRole("list", { name: "Files of the message" });
    return { page, list, expectTrouble, send: page.getByRole("button", { name: "Send", exact: true }) };
  }

  it("uploads files, sends them without text, displays images, and opens and downloads files", async () => {
    const { page, list, send, expectTrouble } = await picked([PNG, CSV]);
    expectTrouble(/^download: blob:/);
    await expect.poll(() => list.getByRole("listitem").count()).toBe(2);
    await expect.poll(() => send.isEnabled()).toBe(true);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await send.click();
    (await kept.service.model.next()).say("A dot and some tea.").finish();
    await expectAnswer(page, "A dot and some tea.");
    await expectRest(page);
    await expectGone(list);
    const image = page.getByRole("button", { name: "Open dot.png" });
    await image.waitFor();
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await image.click();
    await page.getByRole("dialog", { name: "dot.png" }).getByRole("img").waitFor();
    await page.keyboard.press("Escape");
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: /^tea\.csv/ }).click();
    expect((await downloading).suggestedFilename()).toBe("tea.csv");
    await page.reload();
    await image.waitFor();
  });

  it("shows how much of a file was sent, and ends the upload of a removed one", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const waiting = gates.map(({ promise }) => promise);
    kept.service.proxy.plan = ({ path }) => {
      if (path !== "/api/files") return null;
      return { holds: waiting.shift()! };
    };
    const { page, list, send, expectTrouble } = await picked(await largeFile("large.txt"));
    const bar = page.getByRole("progressbar", { name: "Uploading large.txt" });
    await list.getByText(/^\d+% of 16 MB$/).waitFor();
    expect(Number(await bar.getAttribute("value"))).toBeGreaterThan(0);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    expect(await send.isEnabled()).toBe(false);
    gates[0]!.resolve();
    await list.getByText("16 MB", { exact: true }).waitFor();
    await expectGone(bar);
    expect(await send.isEnabled()).toBe(true);
    await page.getByRole("button", { name: "Remove large.txt" }).click();
    await expectGone(list);

    expectTrouble(/net::ERR_/);
    const choosing = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await (await choosing).setFiles(await largeFile("other.txt"));
    await list.getByText(/^\d+% of 16 MB$/).waitFor();
    const ended = page.waitForEvent("requestfailed");
    await page.getByRole("button", { name: "Remove other.txt" }).click();
    await expectGone(list);
    expect((await ended).url()).toContain("/api/files");
    gates[1]!.resolve();
  });

  it("keeps the files of a message when it is edited and its answer regenerated", async () => {
    const { page, send } = await picked([PNG]);
    await page.getByRole("textbox", { name: "Message" }).fill("What is this?");
    await expect.poll(() => send.isEnabled()).toBe(true);
    await send.click();
    (await kept.service.model.next()).say("A dot.").finish();
    await expectAnswer(page, "A dot.");
    await expectRest(page);
    const session = await sessionOf(page);
    const files = async () => {
      const answer = await fetch(`${kept.service.url}/api/state`, { headers: { "x-session-id": session } });
      const { messages } = (await answer.json()) as { messages: { attachments?: { name: string }[] }[] };
      return messages[0]?.attachments?.map(({ name }) => name);
    };
    await page.getByRole("button", { name: "Edit message" }).click();
    await page.getByRole("textbox", { name: "Edited message" }).fill("What colour is this?");
    await page.keyboard.press("Enter");
    (await kept.service.model.next()).say("Black.").finish();
    await expectAnswer(page, "Black.");
    await expectRest(page);
    expect(await files()).toEqual(["dot.png"]);
  });

  it("shows the images of a tool in its call, and opens and downloads its files", async () => {
    const { page, expectTrouble } = await kept.newChat();
    expectTrouble(/^download: blob:/);
    await page.getByRole("textbox", { name: "Message" }).fill("Draw the cups.");
    await page.keyboard.press("Enter");
    (await kept.service.model.next()).callTool("chart", {}).callTool("chart", {}).finish("tool-calls");
    const next = await kept.service.model.next();
    await page.getByRole("button", { name: "Open chart.png" }).nth(1).waitFor();
    next.say("Two cups.").finish();
    await expectAnswer(page, "Two cups.");
    await expectRest(page);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    const image = page.getByRole("button", { name: "Open chart.png" }).first();
    await image.click();
    await page.getByRole("dialog", { name: "chart.png" }).getByRole("img").waitFor();
    await page.keyboard.press("Escape");
    const downloading = page.waitForEvent("download");
    await page
      .getByRole("button", { name: /^cups\.csv/ })
      .first()
      .click();
    expect((await downloading).suggestedFilename()).toBe("cups.csv");
    await page.reload();
    await image.waitFor();
  });

  it("reports a file that cannot be uploaded, and removes it on request", async () => {
    const { page, list, send } = await picked([{ ...PNG, buffer: Buffer.from("no image") }], true);
    await list.getByRole("alert").waitFor();
    expect(await list.getByRole("alert").textContent()).toContain("not of the declared type");
    expect(await send.isEnabled()).toBe(false);
    await page.getByRole("button", { name: "Remove dot.png" }).click();
    await expectGone(list);
  });
});
