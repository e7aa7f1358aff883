// The console page for approvers.

import type { Page } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { expectAnswer, expectGone, expectSeen, say } from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import { AUDIENCE, CLIENT, Login, logIn } from "./login.ts";

describe.skipIf(await isWithoutChromium())("the approvals page", () => {
  let login: Login;
  let service: ConsoleService;
  beforeAll(() => prepareConsole(), 120_000);
  beforeEach(async () => {
    login = await Login.start();
    const client = { clientId: CLIENT, scope: "openid profile", parameters: { resource: AUDIENCE } };
    const issuer = { issuer: login.url, audience: AUDIENCE, jwksUri: null, keys: null };
    service = await serveConsole({
      isPlain: true,
      users: { ...issuer, required: true, claimSessions: false, console: client },
      approvals: {
        calculator: { when: "always", approvers: { claim: "sub", values: ["mia"] }, expiresMs: 86_400_000 },
      },
    });
    login.register(service.url);
  });
  afterEach(() => Promise.all([service.stop(), login.stop()]));
  const open = useChromium();

  async function signedIn(name: string): Promise<Page> {
    const watched = await open(service.url);
    watched.expectTrouble(new RegExp(RegExp.escape(new URL(login.url).host)));
    watched.expectTrouble(/fonts\.googleapis\.com/);
    // The server responds with 403 to users who are not approvers.
    watched.expectTrouble(/403/);
    await watched.context.route(/fonts\.googleapis\.com/, (route) =>
      route.fulfill({ contentType: "text/css", body: "" }),
    );
    const { page } = watched;
    await page.goto("/");
    await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
    await logIn(page, name);
    await expectSeen(page.getByRole("button", { name: new RegExp(`^Sign out ${name}`) }));
    return page;
  }

  it("lists pending actions of other users' conversations, and decides them", async () => {
    const user = await signedIn("uma");
    await say(user, "How much is it?");
    (await service.model.next()).callTool("calculator", { expression: "12 * 7" }).finish("tool-calls");
    const card = user.getByRole("group", { name: "Waits for an approver" });
    await expectSeen(card.getByRole("heading", { name: "calculator waits for an approver" }));
    expect(await card.getByRole("button", { name: "Approve" }).count()).toBe(0);

    const page = await signedIn("mia");
    await page.getByRole("link", { name: "Approvals 1" }).click();
    const waiting = page.getByRole("region", { name: "Calculator" });
    await expectSeen(waiting.getByText("12 * 7"));
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    const picture = process.env["COLLOQUY_PICTURE"];
    if (picture !== undefined) await page.screenshot({ path: picture });
    await waiting.getByLabel("Comment").fill("As agreed.");
    await waiting.getByRole("button", { name: "Approve" }).click();
    await expectSeen(page.getByText("Nothing waits for your approval."));

    (await service.model.next()).say("It is 84.").finish();
    await expectAnswer(user, "It is 84.");
    await expectGone(user.getByRole("link", { name: /^Approvals/ }));
  });
});
