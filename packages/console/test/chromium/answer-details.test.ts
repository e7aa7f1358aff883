// Data, sources and reasoning of an answer.

import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { answers, expectAnswer, expectGone, expectRest, expectSeen, say, sessionOf } from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

describe.skipIf(await isWithoutChromium())("the console", () => {
  const kept = useSharedConsole();

  it("shows sources and reasoning when the user opens them, also with the keyboard", async () => {
    const { page } = await kept.newChat();
    await say(page, "How tall is it?");
    const call = await kept.service.model.next();
    call.emit(
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "They mean the tower.\nI look it up." },
      { type: "reasoning-end", id: "r" },
      { type: "source", sourceType: "url", id: "1", url: "https://example.com/tower", title: "The tower" },
      { type: "source", sourceType: "url", id: "2", url: "https://example.com/heights" },
      { type: "source", sourceType: "url", id: "3", url: "javascript:alert(1)", title: "No page" },
    );
    call.say("330 m.").finish();
    await expectAnswer(page, "330 m.");
    await expectRest(page);
    const reasoning = answers(page).getByText("They mean the tower.");
    const link = answers(page).getByRole("link", { name: "The tower" });
    await expectGone(reasoning);
    await expectGone(link);
    await answers(page).getByText("2 sources", { exact: true }).click();
    await expectSeen(link);
    expect(await link.getAttribute("href")).toBe("https://example.com/tower");
    expect(await answers(page).getByRole("link").count()).toBe(2);
    await answers(page).locator("summary", { hasText: "Reasoning" }).focus();
    await page.keyboard.press("Enter");
    await expectSeen(reasoning);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await page.reload();
    await expectAnswer(page, "330 m.");
    await expectGone(reasoning);
    await answers(page).getByText("Reasoning", { exact: true }).click();
    await expectSeen(reasoning);
  });

  it("shows reasoning while the model thinks, until the answer has text", async () => {
    const { page } = await kept.newChat();
    await say(page, "How tall is it?");
    const call = await kept.service.model.next();
    const think = (delta: string) => call.emit({ type: "reasoning-delta", id: "r", delta });
    call.emit({ type: "reasoning-start", id: "r" });
    think("They mean the tower.");
    await expectSeen(answers(page).getByText("They mean the tower."));
    think("\nI look it up.");
    await expectSeen(answers(page).getByText("I look it up."));
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    call.say("330 ");
    await expectGone(answers(page).getByText("I look it up."));
    await answers(page).getByText("Reasoning", { exact: true }).click();
    await expectSeen(answers(page).getByText("I look it up."));
    call.say("m.").finish();
    await expectAnswer(page, "330 m.");
    await expectRest(page);
    await expectGone(answers(page).getByText("I look it up."));
    await answers(page).getByText("Reasoning", { exact: true }).click();
    await expectSeen(answers(page).getByText("I look it up."));
  });

  it("shows data as JSON", async () => {
    const { page } = await kept.newChat();
    await say(page, "Hello");
    (await kept.service.model.next()).say("Hi.").finish();
    await expectAnswer(page, "Hi.");
    await expectRest(page);
    const session = await sessionOf(page);
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const sending = fetch(`${kept.service.url}/api/chat`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-session-id": session },
      body: JSON.stringify({ message: "Where?", response_schema: schema }),
    });
    (await kept.service.model.next()).say('{"town":"Oslo"}').finish();
    (await kept.service.model.next()).say('{"city":"Oslo"}').finish();
    expect((await sending).status).toBe(200);
    await expectSeen(answers(page).getByText("Data", { exact: true }).first());
    await answers(page).locator("summary", { hasText: "Data" }).click();
    await expectSeen(answers(page).getByRole("group", { name: "Data" }).getByText('"city": "Oslo"'));
    await expectGone(answers(page).getByText("town"));
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
  });
});
