// OpenID Connect sign-in against a local provider.

import type { Page } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";
import {
  composer,
  expectAnswer,
  expectGone,
  expectSeen,
  openConsole,
  say,
  sessionOf,
  threads,
} from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import { AUDIENCE, CLIENT, Login, logIn, OPERATORS } from "./login.ts";

const isLeftOut = await isWithoutChromium();
const DAY_MS = 24 * 60 * 60_000;

describe.skipIf(isLeftOut)("signing in", () => {
  let login: Login;
  let service: ConsoleService;
  beforeAll(() => prepareConsole(), 120_000);
  beforeEach(async () => {
    login = await Login.start();
  });
  afterEach(() => Promise.all([service?.stop(), login.stop()]));
  // After these hooks, so that pages are closed before the service stops.
  const open = useChromium();

  const issuer = (audience: string) => ({ issuer: login.url, audience, jwksUri: null, keys: null });
  const client = (audience: string, clientId = CLIENT) => ({
    clientId,
    scope: "openid profile",
    parameters: { resource: audience },
  });
  type Changes = Parameters<typeof serveConsole>[0];
  async function serve({ required = true, ...changes }: Changes & { readonly required?: boolean } = {}) {
    service = await serveConsole({
      isPlain: true,
      users: { ...issuer(AUDIENCE), required, claimSessions: false, console: client(AUDIENCE) },
      ...changes,
    });
    login.register(service.url);
  }
  async function visit(): Promise<WatchedPage> {
    const watched = await open(service.url);
    // The provider's pages and responses.
    watched.expectTrouble(new RegExp(RegExp.escape(new URL(login.url).host)));
    watched.expectTrouble(/fonts\.googleapis\.com/);
    await watched.context.route(/fonts\.googleapis\.com/, (route) =>
      route.fulfill({ contentType: "text/css", body: "" }),
    );
    await watched.page.goto("/");
    return watched;
  }
  const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
  const main = (page: Page) => page.getByRole("main");
  async function signIn(page: Page, name: string): Promise<void> {
    await main(page).getByRole("button", { name: "Sign in" }).click();
    await logIn(page, name);
    await expectSeen(button(page, `Sign out ${name} of the test`));
  }
  const stored = (page: Page, entry: string) =>
    page.evaluate((name) => JSON.parse(sessionStorage.getItem(name) ?? "null"), entry);

  it("signs in, keeps conversations private to the user, and signs out at the issuer too", async () => {
    await serve();
    const { page } = await visit();
    const addresses: string[] = [];
    page.on("request", (request) => {
      if (request.isNavigationRequest()) addresses.push(request.url());
    });
    await expectSeen(page.getByRole("heading", { name: "Sign in to talk to this assistant" }));
    await signIn(page, "uma");
    expect(page.url()).toBe(`${service.url}/`);
    await say(page, "hello");
    (await service.model.next()).say("Hello, Uma.").finish();
    await expectAnswer(page, "Hello, Uma.");
    const id = await sessionOf(page);
    await expect(service.direct.getSession(id)).rejects.toMatchObject({ status: 401 });
    await page.reload();
    await expectAnswer(page, "Hello, Uma.");
    await expectSeen(threads(page).getByRole("link").first());
    expect(login.tokenRequests).toBe(1);
    const { token, refreshToken } = await stored(page, "colloquy.sign-in.default");
    await button(page, /^Sign out/).click();
    await page.getByRole("button", { name: /yes/i }).click();
    await expectSeen(main(page).getByRole("button", { name: "Sign in" }));
    expect(await stored(page, "colloquy.sign-in.default")).toBeNull();
    for (const secret of [token, refreshToken]) expect(addresses.join(" ")).not.toContain(secret);
    expect(addresses.join(" ")).toContain("code_challenge_method=S256");
    // The issuer asks for the name again.
    await signIn(page, "otto");
    await expectGone(threads(page).getByRole("link"));
  });

  it("renews the token once for all requests of a page whose clock is a day ahead", async () => {
    await serve();
    const { page, context } = await visit();
    await context.clock.setFixedTime(Date.now() + DAY_MS);
    await signIn(page, "uma");
    await openConsole(page);
    expect(login.tokenRequests).toBe(1);
    await context.clock.setFixedTime(Date.now() + 2 * DAY_MS);
    await say(page, "hello");
    (await service.model.next()).say("Still here.").finish();
    await expectAnswer(page, "Still here.");
    expect(login.tokenRequests).toBe(2);
  });

  it("uses the current token while the issuer is unavailable, and ends a sign-in that the issuer refuses", async () => {
    await serve();
    const { page, context } = await visit();
    await signIn(page, "uma");
    login.isBusy = true;
    await context.clock.setFixedTime(Date.now() + 3_560_000);
    await say(page, "hello");
    (await service.model.next()).say("Never mind.").finish();
    await expectAnswer(page, "Never mind.");
    expect(login.tokenRequests).toBeGreaterThan(1);
    login.isBusy = false;
    login.isOver = true;
    await context.clock.setFixedTime(Date.now() + 2 * DAY_MS);
    await say(page, "these words stay");
    await expectSeen(page.getByText("Your sign-in has ended. Sign in again to continue."));
    login.isOver = false;
    await main(page).getByRole("button", { name: "Sign in" }).click();
    await expectAnswer(page, "Never mind.");
    await expect.poll(() => composer(page).inputValue()).toBe("these words stay");
  });

  it("uses the refresh token in only one of two duplicated tabs", async () => {
    await serve();
    const { page, context } = await visit();
    await signIn(page, "uma");
    const copy = await context.newPage();
    const entries = await page.evaluate(() => Object.entries(sessionStorage));
    await copy.addInitScript((all) => {
      if (sessionStorage.length === 0) for (const [name, value] of all) sessionStorage.setItem(name, value);
    }, entries);
    await openConsole(copy);
    const before = login.tokenRequests;
    await context.clock.setFixedTime(Date.now() + 2 * DAY_MS);
    await copy.clock.setFixedTime(Date.now() + 2 * DAY_MS);
    await say(page, "hello");
    (await service.model.next()).say("From the first tab.").finish();
    await expectAnswer(page, "From the first tab.");
    expect(login.tokenRequests).toBe(before + 1);
    expect(await stored(page, "colloquy.sign-in.default")).not.toBeNull();
  });

  it.each([
    ["begun elsewhere", "?code=stolen&state=unknown", /another tab or window/],
    ["refused elsewhere", "?error=access_denied&error_description=Call+0900&state=unknown", /another tab/],
  ])("rejects a response that was %s", async (_what, query, sentence) => {
    await serve();
    const { page } = await visit();
    await page.goto(`/${query}#/chat/some-id`);
    await expectSeen(page.getByText(sentence));
    expect(page.url()).toBe(`${service.url}/#/chat/some-id`);
    expect(await page.getByText("0900").count()).toBe(0);
    expect(login.tokenRequests).toBe(0);
  });

  it("reports a cancelled sign-in, and does not accept a response twice", async () => {
    await serve();
    const { page } = await visit();
    await main(page).getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: /cancel/i }).click();
    await expectSeen(page.getByText("You were not signed in: access was denied, or you cancelled."));
    await signIn(page, "uma");
    await page.goBack();
    await page.goForward();
    await expectSeen(button(page, /^Sign out/));
  });

  it("returns to the conversation that was open", async () => {
    await serve({ required: false });
    const { page } = await visit();
    await say(page, "hello");
    (await service.model.next()).say("Hello, stranger.").finish();
    await expectAnswer(page, "Hello, stranger.");
    const id = await sessionOf(page);
    await page.getByRole("navigation", { name: "Main" }).getByRole("button", { name: "Sign in" }).click();
    await logIn(page, "uma");
    await expectSeen(button(page, /^Sign out/));
    expect(page.url()).toBe(`${service.url}/#/chat/${id}`);
    await expectAnswer(page, "Hello, stranger.");
  });

  it("explains what to do if the page has no sign-in", async () => {
    await serve({ users: { ...issuer(AUDIENCE), required: true, claimSessions: false } });
    const { page } = await visit();
    await expectSeen(page.getByText(/which is not possible on this page/));
    expect(await button(page, "Sign in").count()).toBe(0);
    expect(await button(page, "Connect a wallet").count()).toBe(0);
  });

  it("sends the ID token if the audience is the client id", async () => {
    const users = { ...issuer(CLIENT), required: true, claimSessions: false };
    await serve({ users: { ...users, console: { ...client(AUDIENCE), parameters: {} } } });
    const { page } = await visit();
    await signIn(page, "uma");
    await say(page, "hello");
    (await service.model.next()).say("By the ID token.").finish();
    await expectAnswer(page, "By the ID token.");
  });

  it("lets the page call the issuer's token endpoint and nothing else of the issuer", async () => {
    await serve();
    const { headers } = await fetch(service.url);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain(`connect-src 'self' ${login.url}/token;`);
    expect(policy.split(login.url)).toHaveLength(2);
  });

  describe("of operators", () => {
    beforeEach(async () => {
      const operators = { ...issuer(OPERATORS), claim: "groups", values: ["operators"] };
      await serve({ users: null, operators: { ...operators, console: client(OPERATORS) } });
    });
    async function signInAsOperator(page: Page, name: string): Promise<void> {
      await button(page, "Settings").click();
      await page.getByText("Advanced").click();
      await page.getByRole("link", { name: "Operate this service" }).click();
      await main(page).getByRole("button", { name: "Sign in" }).click();
      await logIn(page, name);
    }

    it("opens the operators’ area, and hides its link from others", async () => {
      const { page } = await visit();
      await expectSeen(button(page, "Settings"));
      expect(await page.getByRole("link", { name: "Operate" }).count()).toBe(0);
      await signInAsOperator(page, "olga");
      await expectSeen(page.getByRole("link", { name: "Sessions" }));
      expect(page.url()).toBe(`${service.url}/#/operate/overview`);
      await page.goto("/#/");
      await expectSeen(page.getByRole("link", { name: "Operate" }));
      await page.reload();
      await page.getByRole("link", { name: "Operate" }).click();
      await page.getByRole("link", { name: "Audit" }).click();
      await expectSeen(page.getByRole("heading", { level: 2 }).first());
      await main(page).getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("button", { name: /yes/i }).click();
      await expectSeen(button(page, "Settings"));
      expect(await page.getByRole("link", { name: "Operate" }).count()).toBe(0);
    });

    it("tells other users that they are not operators", async () => {
      const { page, expectTrouble } = await visit();
      expectTrouble(/403/);
      await signInAsOperator(page, "uma");
      await expectSeen(page.getByText(/does not make its user an operator/));
      expect(await page.getByRole("link", { name: "Sessions" }).count()).toBe(0);
    });
  });

  it("applies the App's name, greeting, colour and images, and loads only allowed images", async () => {
    const branding = { name: "Harbour", greeting: "Ahoy!", accent: "#ffd000", logo: "/assets/none.svg" };
    await serve({ users: null, branding });
    const { page, expectTrouble } = await visit();
    expectTrouble(/none\.svg/);
    await expectSeen(page.getByRole("heading", { name: "Ahoy!" }));
    await expectSeen(page.getByText("Harbour", { exact: true }));
    await expect.poll(() => page.title()).toBe("New chat · Harbour");
    const colours = await page.evaluate(() => {
      const probe = document.createElement("i");
      document.body.append(probe);
      probe.style.color = "var(--cq-accent)";
      return getComputedStyle(probe).color;
    });
    // The yellow accent, darkened for contrast.
    expect(colours).toMatch(/^oklch\(0\.5 /);
  });
});
