import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { useAppConfigs } from "./testing/app-configs.ts";
import { problemTexts } from "./testing/config-directory.ts";

const { load, accepted, app } = useAppConfigs();

describe("Apps", () => {
  it("includes the Apps of the file and `default`", async () => {
    const { apps } = await accepted({
      apps: { defi: { requireKey: "all", onBusy: "reject" }, "team.a-1_b": { description: "The A team" } },
    });
    expect(Object.keys(apps)).toEqual(["default", "defi", "team.a-1_b"]);
    // Only `default` has no section of its own.
    const { isUnconfigured, ...tools } = apps["default"]!.tools;
    expect(isUnconfigured).toBe(true);
    expect(apps["defi"]).toEqual({ ...apps["default"], tools, requireKey: "all", onBusy: "reject" });
    expect(apps["team.a-1_b"]?.description).toBe("The A team");
  });

  it("refuses users whose tokens would open another App or the admin API", async () => {
    const users = { issuer: "https://login.example.com", audience: "chat" };
    const operators = { ...users, claim: "groups", values: ["support"] };
    const result = await load({ apps: { default: { users }, a: { users }, b: { users } }, operators });
    expect(problemTexts(result)).toEqual([
      'apps.b.users: has the issuer and audience of the App "a". Give each App an audience of its own.',
      'operators: has the issuer and audience of the users of the App "default". Give operators an audience of their own.',
    ]);
    const apart = { apps: { a: { users } }, operators: { ...operators, audience: "operators" } };
    expect((await accepted(apart)).operators).toEqual({ ...apart.operators, jwksUri: null, keys: null });
  });

  it("accepts only branding that pages can show safely", async () => {
    const branding = {
      name: "Harbour",
      greeting: "Ahoy!",
      accent: "#1d4ed8",
      logo: "/logo.svg",
      favicon: "https://cdn.example/a.png?x=1",
      images: {
        hosts: ["images.example.com", "cdn.example:8443"],
        proxy: "https://proxy.example/?url={url}",
      },
    };
    expect((await app({ branding })).branding).toEqual(branding);
    for (const wrong of [
      { accent: "red" },
      { accent: "#fff;--x:url(//evil)" },
      { logo: "//evil.example/x.svg" },
      { logo: "javascript:alert(1)" },
      { logo: "data:image/svg+xml,<svg/>" },
      { logo: "http://cdn.example/x.svg" },
      { logo: "https://a:b@cdn.example/x.svg" },
      { favicon: "https://cdn.example/x; script-src *" },
      { favicon: "https://cdn.example/a,b" },
      { name: " " },
      { greeting: "x".repeat(201) },
      { css: "body{}" },
      { images: { hosts: ["https://images.example.com"] } },
      { images: { hosts: ["*.example.com"] } },
      { images: { hosts: ["a.example;script-src"] } },
      { images: { proxy: "https://proxy.example/" } },
      { images: { proxy: "http://proxy.example/?url={url}" } },
      { images: { proxy: "/proxy?url={url}" } },
      { images: { proxy: "https://proxy.example/a{url}" } },
      { images: { proxy: "https://proxy.example/{url}/a" } },
      { images: { proxy: "https://{url}/?" } },
      { images: { proxy: "https://proxy.example/?a={url}&b={url}" } },
    ]) {
      const name = Object.keys(wrong)[0]!;
      const texts = problemTexts(await load({ apps: { a: { branding: wrong } } }));
      expect(texts).toEqual([expect.stringContaining(name === "css" ? "css" : `branding.${name}`)]);
    }
  });

  it("accepts the console's client, and rejects parameters that the console sets itself", async () => {
    const users = { issuer: "https://login.example.com", audience: "chat" };
    const signIn = (console: object) => load({ apps: { a: { users: { ...users, console } } } });
    const accepts = await app({ users: { ...users, console: { clientId: "web" } } });
    expect(accepts.users?.console).toEqual({ clientId: "web", scope: "openid profile", parameters: {} });
    for (const wrong of [
      { clientId: "" },
      { clientId: "web", scope: "profile" },
      { clientId: "web", scope: "openid  profile" },
      { clientId: "web", parameters: { redirect_uri: "https://evil.example" } },
      { clientId: "web", parameters: { response_mode: "form_post" } },
      { clientId: "web", clientSecret: "secret" },
    ])
      expect(problemTexts(await signIn(wrong))).toHaveLength(1);
  });

  it("accepts issuers on private addresses, and over plain http only on this machine", async () => {
    const audience = "chat";
    for (const issuer of ["https://10.0.0.5/realm", "http://127.0.0.1:9000", "http://localhost/realm"])
      expect((await app({ users: { issuer, audience } })).users).toMatchObject({ issuer });
    for (const users of [
      { issuer: "http://10.0.0.5", audience },
      { issuer: "https://login.example.com", audience, jwksUri: "http://login.example.com/keys" },
    ])
      expect(problemTexts(await load({ apps: { default: { users } } }))).toEqual([
        expect.stringContaining("must be an https URL, or an http URL of this machine"),
      ]);
  });

  it.each([
    { kty: "EC", crv: "P-256", x: "AA", y: "AA" },
    { kty: "RSA", n: "AQAB" },
    { kty: "oct", k: "AA" },
    generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }),
    generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({ format: "jwk" }),
    generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey.export({ format: "jwk" }),
    generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }),
  ])("refuses a key of an issuer that verifies no token: $kty $crv", async (key) => {
    const users = { issuer: "https://login.example.com", audience: "chat", keys: [key] };
    expect(problemTexts(await load({ apps: { default: { users } } }))).toEqual([
      "apps.default.users.keys[0]: must be a public key as a JWK (RFC 7517): RSA of at least 2048 bits, P-256, P-384, P-521, Ed25519.",
    ]);
  });

  it.each([
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
    ...["P-256", "P-384", "P-521"].map((namedCurve) => generateKeyPairSync("ec", { namedCurve })),
    generateKeyPairSync("ed25519"),
  ])(
    "accepts a public key of an issuer for each algorithm of tokens: $publicKey.asymmetricKeyDetails",
    async (pair) => {
      const keys = [pair.publicKey.export({ format: "jwk" })];
      const users = { issuer: "https://login.example.com", audience: "chat", keys };
      expect(problemTexts(await load({ apps: { default: { users } } }))).toEqual([]);
    },
  );

  it("limits the expiry of all sessions of an App by its retention, which is in days", async () => {
    const day = 24 * 60 * 60_000;
    const hour = day / 24;
    const unbound = 30 * day;
    expect((await app({ retention: 90 })).expiry).toEqual({
      emptyMs: hour,
      unboundMs: unbound,
      boundMs: 90 * day,
    });
    expect((await app({ retention: 1, expiry: { emptyMs: 2 * day } })).expiry).toEqual({
      emptyMs: day,
      unboundMs: day,
      boundMs: day,
    });
    expect((await app({})).expiry).toEqual({ emptyMs: hour, unboundMs: unbound });
  });

  it("makes secrets required by default", async () => {
    const secrets = [
      { name: "ALCHEMY_KEY", description: "Key of Alchemy" },
      { name: "other", description: "Another", required: false },
    ];
    expect((await app({ secrets })).secrets).toEqual([{ ...secrets[0], required: true }, secrets[1]]);
  });

  it("reports all invalid names, secrets and expiry settings at once", async () => {
    const result = await load({
      apps: {
        default: { requireKey: "all" },
        "a b": {},
        ["x".repeat(65)]: {},
        defi: { secrets: [{ name: "A-B", description: "x" }, { name: "C" }], requireKey: "chats", tool: [] },
        other: {
          secrets: [
            { name: "A", description: "x" },
            { name: "A", description: "y" },
          ],
          models: ["nobody/x"],
        },
        list: [],
      },
    });
    const found = problemTexts(result);
    const name = "must be a short name of letters, digits and the characters . - _.";
    expect(found.toSorted()).toEqual(
      [
        'apps.default.requireKey: The App "default" never needs a key. Use another App for anything that needs a key.',
        `apps["a b"]: ${name}`,
        `apps.${"x".repeat(65)}: ${name}`,
        "apps.defi.secrets[0].name: must be a name of at most 64 letters, digits and _, such as API_KEY.",
        "apps.defi.secrets[1].description: must be text, not absent.",
        'apps.defi.requireKey: must be "chat" or "all", not "chats".',
        'apps.defi.tool: is not a known setting. Did you mean "tools"?',
        'apps.other.secrets[1].name: "A" is in the list already.',
        'apps.other.models[0]: "nobody/x" names the provider "nobody", which is not configured. Known here: openai, anthropic, google, demo.',
        "apps.list: must be an object, not a list.",
      ].toSorted(),
    );
  });

  it("rejects __proto__ as a name", async () => {
    const result = await load('{"apps":{"__proto__":{"models":["a/b"]}}}');
    expect(result.ok ? [] : result.problems).toMatchObject([{ location: "apps.__proto__" }]);
    expect((await accepted({ apps: { constructor: {} } })).apps["constructor"]?.requireKey).toBe("chat");
  });
});

it("fills in environment variables in the headers of a provider", async () => {
  const provider = { kind: "openai-compatible", baseURL: "http://x.test" };
  const config = await accepted(
    { providers: { a: { ...provider, headers: { "X-Key": "{{env.MY_KEY}}" } } } },
    { MY_KEY: "sk-1" },
  );
  expect(config.secrets.reveal()["a"]?.headers).toEqual({ "X-Key": "sk-1" });
  const result = await load({ providers: { a: { ...provider, headers: { "X-Key": "{{secret.A}}" } } } });
  expect(result.ok ? [] : result.problems).toMatchObject([{ location: "providers.a.headers.X-Key" }]);
});
