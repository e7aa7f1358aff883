import { afterEach, describe, expect, it } from "vitest";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PublicPage } from "@colloquy/engine/internal/apps/public-page";
import type { AppCatalog } from "@colloquy/engine/internal/core/ports/driven/apps";
import type { AppSettings } from "@colloquy/engine/internal/core/app-settings";
import { createApps } from "@colloquy/engine/internal/apps/app-catalog";
import { startEdges } from "../testing/edge.ts";
import { Issuer } from "../../../test/issuer.ts";

const CONSOLE = { clientId: "console", scope: "openid", parameters: { resource: "https://api.example" } };
const edges = await startEdges();
const base: AppSettings = edges.service.config.apps["default"]!;

const closing: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

async function startIssuer(): Promise<Issuer> {
  const issuer = await Issuer.start();
  closing.push(() => issuer.stop());
  return issuer;
}

function users(issuer: string, changes: object = {}) {
  const tokens = { issuer, audience: "https://api.example", jwksUri: null, keys: null };
  return { ...tokens, required: true, claimSessions: false, console: CONSOLE, ...changes };
}

function pageOf(apps: Readonly<Record<string, Partial<AppSettings>>>) {
  let time = 0;
  const warnings: string[] = [];
  const settings = Object.fromEntries(
    Object.entries({ default: {}, ...apps }).map(([name, app]) => [
      name,
      { ...base, suggestions: [], secrets: [], ...app },
    ]),
  );
  const catalog: AppCatalog = createApps(settings);
  const page = new PublicPage({
    apps: catalog,
    operators: null,
    now: () => time,
    logger: { warn: (_fields: object, text: string) => void warnings.push(text) },
  });
  return { page, warnings, pass: (ms: number) => void (time += ms) };
}

describe("GET /api/page", () => {
  it("needs no session, key or token", async () => {
    const answer = await edges.testEdge().app.inject("/api/page");
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      {
        app: "default",
        branding: {},
        wallets: false,
        guide: false,
        requires_sign_in: false,
        sign_in: null,
        operator_sign_in: null,
      },
    ]);
  });

  it("answers an unknown App like one without branding and users", async () => {
    const { send } = edges.testEdge();
    const [known, unknown] = await Promise.all(
      ["default", "nobody"].map((app) => send("GET", `/api/page?app=${app}`)),
    );
    expect({ ...unknown?.json(), app: "default" }).toEqual(known?.json());
  });
});

describe("the public page of an App", () => {
  it("has branding, client and endpoints, and nothing else of its settings", async () => {
    const issuer = await startIssuer();
    const branding = { name: "Harbour", accent: "#1d4ed8" };
    const { page } = pageOf({ shop: { branding, instructions: "a secret", users: users(issuer.url) } });
    expect(await page.of("shop")).toEqual({
      app: "shop",
      branding,
      wallets: false,
      requires_sign_in: true,
      sign_in: {
        issuer: issuer.url,
        client_id: "console",
        scope: "openid",
        parameters: { resource: "https://api.example" },
        token: "access_token",
        provider: {
          authorization_endpoint: `${issuer.url}/auth`,
          token_endpoint: `${issuer.url}/token`,
          end_session_endpoint: `${issuer.url}/session/end`,
          authorization_response_iss_parameter_supported: true,
          id_token_signing_alg_values_supported: expect.arrayContaining(["ES256"]),
        },
      },
      operator_sign_in: null,
    });
  });

  it("has no sign-in without a client id, and the ID token where the audience is the client", async () => {
    const issuer = await startIssuer();
    const { page } = pageOf({
      none: { users: users(issuer.url, { console: undefined }) },
      own: { users: users(issuer.url, { audience: "console" }) },
    });
    expect(await page.of("none")).toMatchObject({ requires_sign_in: true, sign_in: null });
    expect(await page.of("own")).toMatchObject({ sign_in: { token: "id_token" } });
  });

  it("offers wallets where an App uses them, whatever App is asked for", async () => {
    const { page } = pageOf({ bank: { wallets: "proved" } });
    expect((await page.of("default")).wallets).toBe(true);
    expect((await page.of("unknown")).wallets).toBe(true);
  });

  it("allows token endpoints and foreign pictures, each exactly", async () => {
    const issuer = await startIssuer();
    const branding = { logo: "https://cdn.example/a/logo.svg?x=1", favicon: "/own.svg" };
    const images = { hosts: ["images.example:8443"], proxy: "https://proxy.example/a/{url}" };
    const { page } = pageOf({
      shop: { branding: { ...branding, images }, users: users(issuer.url) },
      other: { branding },
      third: { branding: { images: { proxy: "https://proxy.example/b?w=8&url={url}" } } },
    });
    expect(await page.allowed()).toEqual({
      connect: [`${issuer.url}/token`],
      images: [
        "https://cdn.example/a/logo.svg",
        "https://proxy.example/a/",
        "https://proxy.example/b",
        "https://images.example:8443",
      ],
    });
  });

  it("reads an issuer that is down once in 30 seconds, and keeps what it knows", async () => {
    const issuer = await startIssuer();
    await issuer.stop();
    const { page, pass, warnings } = pageOf({ shop: { users: users(issuer.url) } });
    expect((await page.of("shop")).sign_in?.provider).toBeNull();
    await issuer.resume();
    expect((await page.of("shop")).sign_in?.provider).toBeNull();
    const provider = async () => {
      pass(30_000);
      return (await page.of("shop")).sign_in?.provider;
    };
    await expect.poll(provider).not.toBeNull();
    await issuer.stop();
    pass(10 * 60_000);
    expect((await page.of("shop")).sign_in?.provider).not.toBeNull();
    expect(warnings).toHaveLength(1);
    await issuer.resume();
  });

  it("waits for an issuer that is down only once, so that it delays no page of other Apps", async () => {
    const asked: ServerResponse[] = [];
    const server = createServer((_request, response) => {
      asked.push(response);
      if (asked.length === 1) response.writeHead(503).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { page, pass } = pageOf({ shop: { users: users(url) } });
    expect((await page.allowed()).connect).toEqual([]);
    pass(30_000);
    expect((await page.allowed()).connect).toEqual([]);
    await expect.poll(() => asked.length).toBe(2);
    // In time, because the page did not wait for it.
    const [authorization_endpoint, token_endpoint, jwks_uri] = [`${url}/auth`, `${url}/token`, `${url}/keys`];
    asked[1]?.end(JSON.stringify({ issuer: url, jwks_uri, authorization_endpoint, token_endpoint }));
    await expect.poll(async () => (await page.allowed()).connect).toEqual([token_endpoint]);
  });

  it.each([
    ["javascript:alert(1)", "https://login.example/token"],
    ["https://login.example/auth", "http://login.example/token"],
  ])("does not send people to %s, nor codes to %s", async (authorization_endpoint, token_endpoint) => {
    const server = createServer((_request, response) => {
      const jwks_uri = `${url}/keys`;
      response.end(JSON.stringify({ issuer: url, jwks_uri, authorization_endpoint, token_endpoint }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { page } = pageOf({ shop: { users: users(url) } });
    expect((await page.of("shop")).sign_in?.provider).toBeNull();
    expect((await page.allowed()).connect).toEqual([]);
  });
});
