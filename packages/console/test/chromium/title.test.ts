// The title of a conversation with its menu, the sidebar that can be hidden, and new chats on phones.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { findViolations } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import {
  composer,
  expectAnswer,
  expectGone,
  expectSeen,
  openConsole,
  sessionOf,
  threads,
} from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

describe.skipIf(await isWithoutChromium())("the title", () => {
  const shared = useSharedConsole();

  /** Opens a conversation with one answer. */
  async function open(size: typeof DESK) {
    const { page, expectTrouble } = await shared.newChat();
    await page.setViewportSize(size);
    const id = crypto.randomUUID();
    const answered = shared.service.direct.sendMessage(id, "Green tea", { wait: true });
    (await shared.service.model.next()).say("Very good.").finish();
    await answered;
    await shared.service.direct.renameThread(id, "Tea");
    await openConsole(page, id);
    await expectAnswer(page, "Very good.");
    return { page, id, expectTrouble };
  }

  const titleOf = (page: Page, title: string) =>
    page
      .getByRole("main")
      .getByRole("heading", { level: 1 })
      .getByRole("button", { name: title, exact: true });
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");

  it("renames the conversation by keyboard, and gets the focus back", async () => {
    const { page, id } = await open(DESK);
    await titleOf(page, "Tea").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("Rename");
    expect(await titleOf(page, "Tea").getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("Enter");
    await page.keyboard.type("Sencha");
    await page.keyboard.press("Enter");
    await expectSeen(titleOf(page, "Sencha"));
    await expect.poll(() => focused(page)).toBe("Sencha");
    expect((await shared.service.direct.getSession(id)).title).toBe("Sencha");
    await expectSeen(threads(page).getByRole("link", { name: "Sencha" }));
  });

  it("moves through its menu with arrows, Home and End, and leaves it with Escape and Tab", async () => {
    const { page } = await open(DESK);
    await titleOf(page, "Tea").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("Rename");
    expect(await findViolations(page)).toEqual([]);
    const passed: string[] = [];
    for (const key of ["ArrowDown", "End", "ArrowDown", "ArrowUp", "Home"]) {
      await page.keyboard.press(key);
      passed.push(await focused(page));
    }
    expect(passed).toEqual(["Pin", "Delete", "Rename", "Delete", "Rename"]);
    await page.keyboard.press("Escape");
    await expectGone(page.getByRole("menu"));
    expect(await focused(page)).toBe("Tea");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("Rename");
    await page.keyboard.press("Tab");
    await expectGone(page.getByRole("menu"));
  });

  it("pins and unpins the conversation, and names a refusal", async () => {
    const { page, expectTrouble } = await open(DESK);
    const pinned = page.getByRole("region", { name: "Pinned" });
    await titleOf(page, "Tea").click();
    await page.getByRole("menuitem", { name: "Pin" }).click();
    await expectSeen(pinned.getByRole("link", { name: "Tea" }));
    await titleOf(page, "Tea").click();
    await page.getByRole("menuitem", { name: "Unpin" }).click();
    await expectGone(pinned);
    expectTrouble(/403/);
    await page.route("**/pin", (route) =>
      route.fulfill({ status: 403, json: { code: "app_forbidden", detail: "Not you.", status: 403 } }),
    );
    await titleOf(page, "Tea").click();
    await page.getByRole("menuitem", { name: "Pin" }).click();
    await expectSeen(page.getByRole("alert").getByText("The conversation was not pinned"));
    await expectGone(pinned);
  });

  it("copies the whole conversation", async () => {
    const { page, id } = await open(DESK);
    await titleOf(page, "Tea").click();
    await page.getByRole("menuitem", { name: "Continue in a copy" }).click();
    await expect.poll(() => sessionOf(page)).not.toBe(id);
    await expectAnswer(page, "Very good.");
  });

  it("deletes the conversation after a question, and starts a new one", async () => {
    const { page, id } = await open(PHONE);
    await titleOf(page, "Tea").click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this conversation?" });
    await dialog.getByRole("button", { name: "Keep it" }).click();
    await expectSeen(titleOf(page, "Tea"));
    await titleOf(page, "Tea").click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    await expect(shared.service.direct.getSession(id)).rejects.toMatchObject({ status: 404 });
  });

  it("stands beside a link to a new chat on phones, of which a new chat needs none", async () => {
    const { page } = await open(PHONE);
    await page.getByRole("link", { name: "New chat" }).click();
    await expectSeen(composer(page));
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    await expectGone(page.getByRole("link", { name: "New chat" }));
  });

  it("stands beside a button that hides the sidebar, also after a reload", async () => {
    const { page } = await open(DESK);
    const navigation = page.getByRole("navigation", { name: "Main" });
    await page.getByRole("button", { name: "Hide the sidebar" }).click();
    await expectGone(navigation);
    await page.reload();
    await expectAnswer(page, "Very good.");
    expect(await navigation.count()).toBe(0);
    await page.getByRole("link", { name: "New chat" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    await page.getByRole("button", { name: "Show the sidebar" }).click();
    await expectSeen(navigation);
    await page.reload();
    await expectSeen(navigation);
  });
});
