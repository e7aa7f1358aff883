// Calls of client tools, as the console shows them.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { expectAnswer, expectGone, expectSeen, say, sessionOf } from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

describe.skipIf(await isWithoutChromium())("a call of a client tool in the console", () => {
  const kept = useSharedConsole();
  const card = (page: Page) => page.getByRole("group", { name: "The assistant asks" });
  const deny = (page: Page) => card(page).getByRole("button", { name: "Deny" });

  async function asked(): Promise<Page> {
    const { page } = await kept.newChat();
    await say(page, "What do I see?");
    (await kept.service.model.next()).callTool("read_page", { part: "title" }).finish("tool-calls");
    await expectSeen(card(page).getByRole("heading", { name: "Waiting for a page that runs read_page" }));
    await expectSeen(page.getByText("waiting for a page", { exact: true }));
    return page;
  }

  it("waits for a page and can be denied", async () => {
    const page = await asked();
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await deny(page).click();
    const next = await kept.service.model.next();
    expect(next.prompt.at(-1)).toContain("denied");
    next.say("As you like.").finish();
    await expectAnswer(page, /denied[^]*As you like\./);
    await expectGone(card(page));
  });

  it("shows that a page runs it, and what it returns", async () => {
    const page = await asked();
    const { direct, model } = kept.service;
    const id = await sessionOf(page);
    const [action] = (await direct.getState(id)).pending_actions;
    const { claim } = await direct.claimAction(id, action!.id);
    await expectSeen(card(page).getByRole("heading", { name: "A page is running read_page." }));
    await expectGone(deny(page));
    await direct.decideAction(id, action!.id, { decision: "approve", claim, result: { output: "Tea" } });
    const next = await model.next();
    expect(next.prompt.at(-1)).toContain("Tea");
    next.say("You see tea.").finish();
    await expectAnswer(page, /read_page[^]*done[^]*You see tea\./);
    await expectGone(card(page));
  });
});
