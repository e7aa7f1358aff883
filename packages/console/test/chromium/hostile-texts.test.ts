// Hostile texts wherever the console shows texts of others: nothing runs, nothing is requested, and the
// page's policy never has to refuse anything, because nothing is tried.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { answers, expectAnswer, expectSeen, openConsole, said, say, threads } from "./console-page.ts";
import { ADMIN_KEY } from "./console-service.ts";
import { DEEP_TEXTS, HOSTILE_TEXTS } from "../../../ui/test/hostile-texts.ts";
import { useConsoleService } from "./use-console-service.ts";

const isLeftOut = await isWithoutChromium();
/** Elements that no text may turn into. The console's own images are in buttons and marks. */
const FORBIDDEN =
  "script, img, iframe, object, embed, video, audio, style, link, meta, base, math, template, marquee, [srcdoc], [srcset]";

const service = useConsoleService();

/**
 * Returns forbidden elements in the page, as lines. Links may lead to the web, a mailbox, or into the
 * console.
 */
function findBecome(page: Page): Promise<readonly string[]> {
  return page.evaluate((forbidden) => {
    const found: string[] = [];
    for (const element of document.body.querySelectorAll(forbidden)) found.push(element.outerHTML);
    for (const element of document.body.querySelectorAll("*")) {
      for (const { name } of element.attributes) if (name.startsWith("on")) found.push(element.outerHTML);
    }
    for (const link of document.body.querySelectorAll("a[href]")) {
      const href = link.getAttribute("href") ?? "";
      if (!/^(https?:\/\/|mailto:|#)/.test(href)) found.push(href);
      if (/^https?:/.test(href) && !/noopener/.test(link.getAttribute("rel") ?? ""))
        found.push(`${href} knows its opener`);
    }
    return found;
  }, FORBIDDEN);
}

function typedDataOf(text: string): object {
  return {
    domain: { name: text, chainId: 1 },
    primaryType: "Text",
    types: { Text: [{ name: "text", type: "string" }] },
    message: { text },
  };
}

/** Splits into groups of ten. */
function inTens(texts: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(texts.length / 10) }, (_, at) => texts.slice(at * 10, at * 10 + 10));
}

/** Opens everything that can be opened. */
async function unfold(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
}

/** Shows the messages that the page leaves out initially. */
async function showAll(page: Page, texts: readonly string[]): Promise<void> {
  const earlier = page.getByRole("button", { name: /^Show earlier messages/ });
  const shown = async (): Promise<number> => {
    if (await earlier.isVisible()) await earlier.click();
    return answers(page).count();
  };
  // Some of the texts take seconds to render while other tests run.
  await expect.poll(shown, { timeout: 60_000 }).toBe(texts.length);
}

async function expectHarmless(page: Page): Promise<void> {
  await unfold(page);
  // One frame: inserted elements have taken effect by then.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  expect(await findBecome(page)).toEqual([]);
}

describe.skipIf(isLeftOut)("hostile texts in the console", () => {
  const openPage = useChromium();

  it("are harmless as messages, also in the developer panel", async () => {
    const id = crypto.randomUUID();
    for (const text of HOSTILE_TEXTS) {
      const sending = service.direct.sendMessage(id, text, { wait: true });
      (await service.model.next()).say(text).finish();
      await sending;
    }
    const { page } = await openPage(service.url, { viewport: { width: 1440, height: 900 } });
    await openConsole(page, id);
    await showAll(page, HOSTILE_TEXTS);
    await expectHarmless(page);
    // User messages are never treated as markup.
    const shown = await said(page).evaluateAll((articles) =>
      articles.map((article) => article.querySelector("p")?.textContent ?? ""),
    );
    expect(shown).toEqual(HOSTILE_TEXTS.map((text) => text.trim()));
    // Markup in answers is visible, so that people see it.
    await expectSeen(answers(page).nth(0).getByText("<script>alert(1)</script>"));
    await expectSeen(answers(page).getByText("Picture at elsewhere.example: A picture").first());
    await page.getByRole("button", { name: "Developer panel" }).click();
    for (const tab of ["Events", "Snapshot", "Records", "Requests"]) {
      await page.getByRole("tab", { name: tab }).click();
      await expectHarmless(page);
    }
  });

  it("are shown unformatted if they are nested too deeply for Markdown, and the conversation continues", async () => {
    const id = crypto.randomUUID();
    for (const text of DEEP_TEXTS) {
      const sending = service.direct.sendMessage(id, "Please", { wait: true });
      (await service.model.next()).say(text).finish();
      await sending;
    }
    const { page } = await openPage(service.url);
    await openConsole(page, id);
    await showAll(page, DEEP_TEXTS);
    for (const [at, text] of DEEP_TEXTS.entries())
      expect(await answers(page).nth(at).locator("p").first().textContent()).toBe(text);
    await say(page, "Go on");
    (await service.model.next()).say("I go on.").finish();
    await expectAnswer(page, /I go on\./);
  });

  it("cannot inject markup through character references in Markdown", async () => {
    const { page } = await openPage(service.url);
    const id = crypto.randomUUID();
    await service.direct.sendMessage(id, "Characters");
    (await service.model.next())
      .say("&copy; &amp; &lt;b&gt; &semi; &notit; &nope; &NotEqualTilde; &hearts;")
      .finish();
    await openConsole(page, id);
    await expectAnswer(page, /^© & <b> ; &notit; &nope; ≂̸ ♥/);
  });

  it("are titles of conversations, in the list and above them", async () => {
    const wallet = "0xabc";
    const ids = new Map<string, string>();
    for (const text of HOSTILE_TEXTS) {
      const id = crypto.randomUUID();
      await service.direct.createSession(id, { publicKey: wallet });
      // The service refuses titles with line ends or invisible characters.
      await service.direct.renameThread(id, text).then(
        ({ title }) => ids.set(title, id),
        (error: { status: number }) => expect(error.status).toBe(400),
      );
    }
    expect(ids.size).toBeGreaterThan(60);
    const { page } = await openPage(service.url);
    await openConsole(page);
    await page.getByRole("button", { name: "Connect a wallet" }).click();
    await page.getByRole("textbox", { name: "Address" }).fill(wallet);
    await page.keyboard.press("Enter");
    const older = page.getByRole("button", { name: "Show older ones" });
    const listed = async (): Promise<number> => {
      if (await older.isVisible()) await older.click();
      return threads(page).count();
    };
    await expect.poll(listed).toBe(ids.size);
    await expectHarmless(page);
    for (const [title, id] of [...ids].slice(0, 6)) {
      await openConsole(page, id);
      await expect.poll(() => page.title()).toContain(title);
      await expect.poll(() => page.getByRole("heading", { level: 1 }).textContent()).toBe(title);
    }
    await page
      .getByRole("button", { name: /^Menu of / })
      .first()
      .click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await expectSeen(page.getByRole("dialog"));
    await expectHarmless(page);
  });

  it("are names, inputs and outputs of tools, and actions", async () => {
    const id = crypto.randomUUID();
    const turns = inTens(HOSTILE_TEXTS);
    for (const texts of turns) {
      const sending = service.direct.sendMessage(id, "Please", { wait: true });
      const call = await service.model.next();
      for (const text of texts)
        call.callTool(text, { [text]: text }).callTool("echo", { value: { [text]: [text] } });
      call.finish("tool-calls");
      (await service.model.next()).say("Done.").finish();
      await sending;
    }
    const { page } = await openPage(service.url);
    await openConsole(page, id);
    await expect.poll(() => answers(page).count()).toBe(turns.length);
    expect(await answers(page).getByText("echo", { exact: true }).count()).toBe(HOSTILE_TEXTS.length);
    await expectHarmless(page);
    expect(await answers(page).first().innerText()).toContain("<script>alert(1)</script>");
  });

  it("are questions, suggestions, inputs to approve, data to sign", async () => {
    const { page } = await openPage(service.url);
    const asking = page.getByRole("group", { name: "The assistant asks" });
    for (const texts of inTens(HOSTILE_TEXTS)) {
      const id = crypto.randomUUID();
      await service.direct.sendMessage(id, "Please");
      const call = await service.model.next();
      for (const text of texts) {
        call.callTool("ask_user", { question: text, choices: [text] });
        call.callTool("calculator", { expression: text });
        call.callTool("wallet_request_signature", { typed_data: typedDataOf(text) });
      }
      call.finish("tool-calls");
      await openConsole(page, id);
      await expect.poll(() => asking.count()).toBe(3 * texts.length);
      await expectHarmless(page);
      expect(await asking.first().getByRole("heading").textContent()).toBe(texts[0]);
    }
  });

  it("are conversations in the operators' area", async () => {
    const id = crypto.randomUUID();
    await service.direct.createSession(id, { publicKey: "<script>alert(1)</script>" });
    await service.direct.renameThread(id, "<img src=x onerror=alert(1)>");
    await service.direct.sendMessage(id, "<svg onload=alert(1)>");
    (await service.model.next()).fail(new Error("<img src=x onerror=alert(1)>"));
    const { page } = await openPage(service.url);
    await page.goto("/#/operate/sessions");
    await page.getByLabel("Admin key").fill(ADMIN_KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "<img src=x onerror=alert(1)>" }).click();
    await expectSeen(page.getByRole("heading", { name: "<img src=x onerror=alert(1)>" }));
    await expectSeen(page.getByText("<script>alert(1)</script>").first());
    await expectHarmless(page);
    await page.getByRole("button", { name: "Delete" }).click();
    await expectSeen(page.getByRole("dialog").getByText("<img src=x onerror=alert(1)>"));
    await expectHarmless(page);
  });
});
