// Decisions that an operator makes on behalf of a user, and their entries in the audit trail.

import { createClient, type Client } from "@colloquy/client";
import type { KeyScope } from "@colloquy/client/admin";
import { randomUUID } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";
import { expectGone, expectSeen } from "./console-page.ts";
import { useOperator } from "./use-operator.ts";

const isLeftOut = await isWithoutChromium();

describe.skipIf(isLeftOut)("an operator with a key of their own", () => {
  const operator = useOperator();

  /** Opens the area with a key called Ada. */
  async function openAs(scope: KeyScope, view: string): Promise<WatchedPage> {
    const { key } = await operator.admin.createKey({ apps: [], scopes: [scope], name: "Ada" });
    const watched = await operator.openPage(operator.service.url);
    await watched.page.goto(`/#/operate/${view}`);
    await watched.page.getByLabel("Admin key").fill(key);
    await watched.page.keyboard.press("Enter");
    return watched;
  }

  async function visitor(): Promise<Client> {
    const { key } = await operator.admin.createKey({ apps: ["trips"] });
    return createClient({ baseUrl: operator.service.url, app: "trips", key });
  }

  const card = (page: Page): Locator => page.getByRole("group", { name: "Waits for a person" });

  it("approves a call, and is named in the audit trail as who read, decided and deleted", async () => {
    const [client, id] = [await visitor(), randomUUID()];
    await client.sendMessage(id, "what is 12 * 7?", { wait: true });
    const { page } = await openAs("admin:write", `sessions/${id}`);
    await expectSeen(card(page).getByText('"12 * 7"'));
    await card(page).getByRole("button", { name: "Approve" }).click();
    await expectGone(card(page));
    await expect.poll(async () => (await client.getState(id)).messages.at(-1)?.content).toContain("84");
    const { tool_calls: calls } = (await client.getState(id)).messages.at(-1)!;
    expect(calls?.[0]?.decision).toMatchObject({ status: "approved", by: "operator" });

    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete permanently" }).click();
    await expectSeen(page.getByRole("heading", { name: "Sessions" }));
    await page.goto("/#/operate/audit");
    const entries = page.getByRole("table", { name: "Audit trail" }).locator("tbody").getByRole("row");
    await expect
      .poll(async () => (await entries.allInnerTexts()).filter((row) => row.startsWith("Ada ")))
      .toEqual([
        expect.stringMatching(/^Ada [^]*deleted a conversation/),
        expect.stringMatching(/^Ada [^]*decided an action[^]*decision: approve/),
        expect.stringMatching(/^Ada [^]*read a conversation/),
      ]);
  });

  it("sends an operator's answer to the assistant's question", async () => {
    const [client, id] = [await visitor(), randomUUID()];
    await client.sendMessage(id, 'call ask_user {"question":"Which mountain?"}', { wait: true });
    const { page } = await openAs("admin:write", `sessions/${id}`);
    await card(page).getByLabel("Your answer").fill("The high one");
    await page.keyboard.press("Enter");
    await expectGone(card(page));
    expect((await client.listActions(id)).at(-1)).toMatchObject({
      status: "approved",
      result: { answer: "The high one" },
    });
  });

  it("without the scope admin:write cannot decide, and learns which scope is missing", async () => {
    const [client, id] = [await visitor(), randomUUID()];
    await client.sendMessage(id, "what is 12 * 7?", { wait: true });
    const { page, expectTrouble } = await openAs("admin:read", `sessions/${id}`);
    expectTrouble(/^console: Failed to load resource.* 403/);
    await card(page).getByRole("button", { name: "Deny" }).click();
    await expectSeen(card(page).getByRole("alert").getByText('lacks the scope "admin:write"'));
    expect((await client.listActions(id)).at(-1)).toMatchObject({ status: "pending" });
  });

  it("without the scope admin:write sees handles in place of ids, in every view", async () => {
    const [client, id] = [await visitor(), randomUUID()];
    await client.sendMessage(id, "hello", { wait: true, publicKey: "0xWALLET" });
    await client.renameThread(id, "The hidden one");
    const { session } = await operator.admin.getSession(id);
    const { page } = await openAs("admin:read", "sessions");
    await page.getByRole("searchbox", { name: /handle/ }).fill(session.handle);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "The hidden one" }).click();
    await expectSeen(page.getByRole("heading", { name: "The hidden one" }));
    await expectSeen(page.getByRole("button", { name: "Copy the handle" }));
    expect(page.url()).toContain(session.handle);
    for (const name of ["Delete", "Interrupt", "Copy the session id"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Open in the chat" }).count()).toBe(0);
    const texts = [await page.content()];
    await page.goto("/#/operate/audit");
    await expectSeen(page.getByRole("link", { name: session.handle }).first());
    texts.push(await page.content());
    expect(texts.join("")).not.toMatch(new RegExp(`${id}|0xWALLET`, "i"));
  });
});
