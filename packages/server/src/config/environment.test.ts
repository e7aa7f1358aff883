import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { inside, loaded, problems, warnings } = useConfigDirectory();

describe("the environment", () => {
  it("sets the listening address and the trusted proxies", async () => {
    const { server } = await loaded({
      PORT: "0",
      HOST: "[::1]",
      COLLOQUY_DATA_DIR: "some/where",
      COLLOQUY_ALLOWED_HOSTS: "Chat.example.test, other.test:8080 ,, ::1, [::1]:80",
      COLLOQUY_TRUSTED_PROXIES: "10.0.0.0/8,192.0.2.7,2001:DB8::/32",
      COLLOQUY_LOG_LEVEL: "DEBUG",
    });
    expect(server).toMatchObject({
      port: 0,
      host: "::1",
      loopback: true,
      dataDirectory: inside("some/where"),
      allowedHosts: ["chat.example.test", "other.test", "::1", "::1"],
      trustedProxies: ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"],
      logLevel: "debug",
    });
  });

  it.each([
    ["localhost", true],
    ["chat.localhost", true],
    ["127.1.2.3", true],
    ["::1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["127.example.test", false],
    ["10.0.0.1", false],
  ])("treats HOST=%s as loopback: %s", async (HOST, loopback) => {
    expect((await loaded({ HOST, COLLOQUY_ALLOWED_HOSTS: "chat.test" })).server.loopback).toBe(loopback);
  });

  it("warns that others can list a wallet's threads if bound beyond loopback or behind a proxy", async () => {
    expect(await warnings({})).toEqual([]);
    expect(await warnings({ HOST: "0.0.0.0", COLLOQUY_ALLOWED_HOSTS: "chat.test" })).toEqual([
      expect.stringMatching(/^HOST is 0\.0\.0\.0, .* walletListing to "off"/),
    ]);
    expect(await warnings({ COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" })).toEqual([
      expect.stringMatching(/^COLLOQUY_TRUSTED_PROXIES is set, .* walletListing to "off"/),
    ]);
  });

  it("warns of a public allowed host without a trusted proxy", async () => {
    const unlimited = expect.stringMatching(/COLLOQUY_TRUSTED_PROXIES is not, .* nothing limits requests/);
    const named = { COLLOQUY_ALLOWED_HOSTS: "chat.example.test" };
    expect(await warnings(named)).toEqual([unlimited]);
    expect(await warnings({ COLLOQUY_ALLOWED_HOSTS: "ui.localhost" })).toEqual([]);
    expect(await warnings({ ...named, COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" })).not.toContainEqual(unlimited);
  });

  it.each([
    ["0.0.0.0", hostname().toLowerCase()],
    ["::", hostname().toLowerCase()],
    ["192.0.2.7", "192.0.2.7"],
    ["chat.lan", "chat.lan"],
  ])("requires allowed hosts with HOST=%s and no proxy", async (HOST, name) => {
    const line = `COLLOQUY_ALLOWED_HOSTS=${name}`;
    const found = await problems({ HOST });
    expect(found).toEqual([
      expect.stringMatching(new RegExp(`^COLLOQUY_ALLOWED_HOSTS: .* Add this line, .*: ${line}$`)),
    ]);
    expect((await loaded({ HOST, COLLOQUY_ALLOWED_HOSTS: name })).server.allowedHosts).toContain(name);
    expect((await loaded({ HOST, COLLOQUY_TRUSTED_PROXIES: "10.0.0.1" })).server.allowedHosts).toEqual([]);
  });

  it("adds the bound address to the allowed hosts", async () => {
    const hosts = async (HOST: string) =>
      (await loaded({ HOST, COLLOQUY_ALLOWED_HOSTS: "chat.test" })).server.allowedHosts;
    expect(await hosts("192.0.2.7")).toEqual(["chat.test", "192.0.2.7"]);
    expect(await hosts("0.0.0.0")).toEqual(["chat.test"]);
  });

  it.each([
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "1e3"],
    ["HOST", "http://127.0.0.1"],
    ["HOST", "127.0.0.1:80"],
    ["HOST", "1.2.3"],
    ["COLLOQUY_ALLOWED_HOSTS", "good.test,https://bad.test"],
    ["COLLOQUY_ALLOWED_HOSTS", "good.test:99999"],
    ["COLLOQUY_TRUSTED_PROXIES", "10.0.0.0/33"],
    ["COLLOQUY_TRUSTED_PROXIES", "proxy.test"],
    ["COLLOQUY_TRUSTED_PROXIES", "::1/129"],
    ["COLLOQUY_PUBLIC_URL", "chat.example.com"],
    ["COLLOQUY_PUBLIC_URL", "ftp://chat.example.com"],
    ["COLLOQUY_LOG_LEVEL", "loud"],
    ["COLLOQUY_DATABASE_URL", "localhost/x"],
    ["COLLOQUY_DATABASE_URL", "mysql://localhost/x"],
    ["COLLOQUY_DATABASE_URL", "postgres://user:p#1@localhost/x"],
    ["COLLOQUY_NATS_URL", "nats://localhost"],
  ])("rejects %s=%s", async (name, value) => {
    const found = await problems({ [name]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${name}: .+\\.$`));
  });
});

describe("database and NATS URLs", () => {
  const DATABASE = "postgres://user:hidden@db.test/colloquy";
  const NATS = "nats://node:hidden@one.test:4222, nats://two.test";

  it("keeps the values and never prints them", async () => {
    const config = await loaded({ COLLOQUY_DATABASE_URL: DATABASE, COLLOQUY_NATS_URL: NATS });
    expect(config.backend.plugin.name).toBe("postgresql");
    expect(config.backend.settings.reveal()).toEqual({ url: DATABASE });
    expect(config.transport?.plugin.name).toBe("nats");
    expect(config.transport?.settings.reveal()).toEqual({ url: NATS });
    expect(JSON.stringify(config) + inspect(config, { depth: null, showHidden: true })).not.toContain(
      "hidden@",
    );
    expect(await loaded()).toMatchObject({ backend: { plugin: { name: "sqlite" } }, transport: null });
  });

  it.each([
    "postgresql://db.test/x",
    "postgres:///x?host=/var/run/postgresql",
    "postgres://[::1]:5433/x?sslmode=require",
    "postgres://neon.test/x?sslmode=require&channel_binding=require",
  ])("accepts %s as database", async (url) => {
    expect((await loaded({ COLLOQUY_DATABASE_URL: url })).backend.settings.reveal()).toEqual({ url });
  });

  it.each([
    ["schema=app", /parameter schema.*database of its own\.$/],
    ["sslmod=require", /parameter sslmod, .*Did you mean "sslmode"\?$/],
    ["pgbouncer=true", /parameter pgbouncer, which would be ignored/],
  ])("rejects the unknown parameter of ?%s", async (parameter, message) => {
    const found = await problems({ COLLOQUY_DATABASE_URL: `${DATABASE}?sslmode=require&${parameter}` });
    expect(found).toEqual([expect.stringMatching(message)]);
    expect(found.join()).not.toContain("hidden");
  });

  it.each([
    "one.test:4222",
    "http://one.test",
    "nats://one.test/x",
    "nats://one.test,tls://two.test",
    "nats://one.test,,",
    "nats://",
  ])("rejects %s as NATS server", async (url) => {
    const found = await problems({ COLLOQUY_DATABASE_URL: DATABASE, COLLOQUY_NATS_URL: url });
    expect(found).toEqual([expect.stringMatching(/^COLLOQUY_NATS_URL: must be the URL of a NATS server/)]);
  });

  it("does not quote invalid URLs", async () => {
    const found = await problems({
      COLLOQUY_DATABASE_URL: "user:hidden@db",
      COLLOQUY_NATS_URL: "user:hidden@nats",
    });
    expect(found).toHaveLength(2);
    expect(found.join()).not.toContain("hidden");
  });
});

describe("unencrypted connections", () => {
  const REMOTE = "postgres://user:hidden@db.test/colloquy";
  const warned = async (environment: Readonly<Record<string, string>>) =>
    (await warnings(environment)).map((warning) => warning.split(" ", 1)[0]);

  it.each([
    REMOTE,
    `${REMOTE}?sslmode=disable`,
    "postgres://db.test/x?host=10.0.0.7",
    "postgres://[2001:db8::1]/x",
    "postgres://a%zz.test/x",
    "postgres:///x?host=a%25zz.test",
  ])("warns of %s", async (url) => {
    expect(await warned({ COLLOQUY_DATABASE_URL: url })).toEqual(["COLLOQUY_DATABASE_URL"]);
    expect((await warnings({ COLLOQUY_DATABASE_URL: url })).join()).not.toContain("hidden");
  });

  it.each([
    `${REMOTE}?sslmode=verify-full`,
    `${REMOTE}?ssl=true`,
    `${REMOTE}?sslrootcert=/ca.pem`,
    "postgres://localhost/x",
    "postgres://[::1]/x",
    "postgres:///x",
    "postgres://user@db.test/x?host=/var/run/postgresql",
    "postgres://user@%2Fvar%2Frun%2Fpostgresql/x",
  ])("does not warn of %s", async (url) => {
    expect(await warned({ COLLOQUY_DATABASE_URL: url })).toEqual([]);
  });

  it("takes PGSSLMODE into account", async () => {
    expect(await warned({ COLLOQUY_DATABASE_URL: REMOTE, PGSSLMODE: "require" })).toEqual([]);
  });

  it.each([
    ["nats://127.0.0.1:4222", []],
    ["tls://nats.test", []],
    ["nats://nats.test", ["COLLOQUY_NATS_URL"]],
    ["nats://127.0.0.1,nats://user:hidden@nats.test", ["COLLOQUY_NATS_URL"]],
    ["nats://a%zz.test", ["COLLOQUY_NATS_URL"]],
    ["nats://[::1]", []],
  ])("warns of NATS servers on other machines without TLS: %s", async (url, names) => {
    expect(await warned({ COLLOQUY_DATABASE_URL: "postgres://localhost/x", COLLOQUY_NATS_URL: url })).toEqual(
      names,
    );
  });
});

describe("the admin key", () => {
  it("is used unchanged, or null if it is blank", async () => {
    const key = "a-key_of/24+characters.!";
    expect((await loaded({ COLLOQUY_ADMIN_KEY: key })).adminKey?.reveal()).toBe(key);
    expect((await loaded({ COLLOQUY_ADMIN_KEY: " " })).adminKey).toBeNull();
    expect(await warnings({ COLLOQUY_ADMIN_KEY: key })).toEqual([]);
    expect(JSON.stringify(await loaded({ COLLOQUY_ADMIN_KEY: key }))).not.toContain(key);
  });

  it.each([
    "a-key_of/24+characters.!".slice(1),
    "x".repeat(513),
    "with a space in the middle",
    "kein-schlüssel-der-so-geht",
  ])("is rejected if it is too short, too long or not valid in a header: %s", async (key) => {
    const [problem, ...more] = await problems({ COLLOQUY_ADMIN_KEY: key });
    expect(problem).toMatch(/^COLLOQUY_ADMIN_KEY: must be 24 to 512 printable .* openssl rand -base64 32$/);
    expect(problem).not.toContain(key);
    expect(more).toEqual([]);
  });

  it.each([
    "a".repeat(40),
    "change-me-now-change-me-now-",
    "change-me-now-change-me-now-chan",
    "0123456789abcdefghijklmnopqrst",
    "98765432109876543210987654321",
    "abcabbacbaccabbcabcbaabc",
  ])("is rejected if it follows a pattern: %s", async (key) => {
    const [problem, ...more] = await problems({ COLLOQUY_ADMIN_KEY: key });
    expect(problem).toMatch(/^COLLOQUY_ADMIN_KEY: is too easy to guess.* openssl rand -base64 32$/);
    expect(problem).not.toContain(key);
    expect(more).toEqual([]);
  });

  it.each(["hex", "base64", "base64url"] as const)("is accepted if it is random, in %s", async (encoding) => {
    for (const length of [18, 24, 32]) {
      const key = createHash("sha512").update(`${length}`).digest().subarray(0, length).toString(encoding);
      expect(await problems({ COLLOQUY_ADMIN_KEY: key })).toEqual([]);
    }
  });
});

it("rejects an invalid COLLOQUY_SECRET_KEY without quoting it", async () => {
  const found = await problems({ COLLOQUY_SECRET_KEY: `${"0f1e".repeat(16)},hunter22` });
  expect(found).toEqual([expect.stringMatching(/^COLLOQUY_SECRET_KEY: must .* openssl rand -base64 32$/)]);
  expect(found.join()).not.toContain("hunter22");
});
