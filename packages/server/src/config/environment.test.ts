import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { inside, loaded, problems, warnings } = useConfigDirectory();

describe("the environment", () => {
  it("says where the service listens and whom it trusts", async () => {
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
  ])("bound to %s can be reached from this machine only: %s", async (HOST, loopback) => {
    expect((await loaded({ HOST })).server.loopback).toBe(loopback);
  });

  it("warns that a wallet's threads can be listed where others come: bound beyond loopback, or behind a proxy", async () => {
    expect(await warnings({})).toEqual([]);
    expect(await warnings({ HOST: "0.0.0.0" })).toEqual([
      expect.stringMatching(/^HOST is 0\.0\.0\.0, .* walletListing to "off"/),
    ]);
    expect(await warnings({ COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" })).toEqual([
      expect.stringMatching(/^COLLOQUY_TRUSTED_PROXIES is set, .* walletListing to "off"/),
    ]);
  });

  it("warns of a name that others may ask for by way of a proxy that nobody named", async () => {
    const unlimited = expect.stringMatching(/COLLOQUY_TRUSTED_PROXIES is not, .* nothing limits requests/);
    const named = { COLLOQUY_ALLOWED_HOSTS: "chat.example.test" };
    expect(await warnings(named)).toEqual([unlimited]);
    expect(await warnings({ COLLOQUY_ALLOWED_HOSTS: "ui.localhost" })).toEqual([]);
    expect(await warnings({ ...named, COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" })).not.toContainEqual(unlimited);
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
    ["COLLOQUY_LOG_LEVEL", "loud"],
    ["COLLOQUY_DATABASE_URL", "localhost/x"],
    ["COLLOQUY_DATABASE_URL", "mysql://localhost/x"],
    ["COLLOQUY_DATABASE_URL", "postgres://user:p#1@localhost/x"],
    ["COLLOQUY_NATS_URL", "nats://localhost"],
  ])("does not start with %s=%s", async (name, value) => {
    const found = await problems({ [name]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${name}: .+\\.$`));
  });
});

describe("addresses of servers", () => {
  const DATABASE = "postgres://user:hidden@db.test/colloquy";
  const NATS = "nats://node:hidden@one.test:4222, nats://two.test";

  it("are what is set, and printed by nothing", async () => {
    const config = await loaded({ COLLOQUY_DATABASE_URL: DATABASE, COLLOQUY_NATS_URL: NATS });
    expect(config.databaseUrl?.reveal()).toBe(DATABASE);
    expect(config.natsUrl?.reveal()).toBe("nats://node:hidden@one.test:4222,nats://two.test");
    expect(JSON.stringify(config) + inspect(config, { depth: null, showHidden: true })).not.toContain(
      "hidden@",
    );
    expect(await loaded()).toMatchObject({ databaseUrl: null, natsUrl: null });
  });

  it.each([
    "postgresql://db.test/x",
    "postgres:///x?host=/var/run/postgresql",
    "postgres://[::1]:5433/x?sslmode=require",
  ])("may be %s", async (url) => {
    expect((await loaded({ COLLOQUY_DATABASE_URL: url })).databaseUrl?.reveal()).toBe(url);
  });

  it.each([
    "one.test:4222",
    "http://one.test",
    "nats://one.test/x",
    "nats://one.test,tls://two.test",
    "nats://one.test,,",
    "nats://",
  ])("may not be %s for NATS", async (url) => {
    const found = await problems({ COLLOQUY_DATABASE_URL: DATABASE, COLLOQUY_NATS_URL: url });
    expect(found).toEqual([
      expect.stringMatching(/^COLLOQUY_NATS_URL: must be the address of a NATS server/),
    ]);
  });

  it("are not told where they are wrong", async () => {
    const found = await problems({
      COLLOQUY_DATABASE_URL: "user:hidden@db",
      COLLOQUY_NATS_URL: "user:hidden@nats",
    });
    expect(found).toHaveLength(2);
    expect(found.join()).not.toContain("hidden");
  });
});

describe("the admin key", () => {
  it("is taken as it is, and none is none", async () => {
    const key = "a-key_of/16.chars";
    expect((await loaded({ COLLOQUY_ADMIN_KEY: key })).adminKey?.reveal()).toBe(key);
    expect((await loaded({ COLLOQUY_ADMIN_KEY: " " })).adminKey).toBeNull();
    expect(await warnings({ COLLOQUY_ADMIN_KEY: key })).toEqual([]);
    expect(JSON.stringify(await loaded({ COLLOQUY_ADMIN_KEY: key }))).not.toContain(key);
  });

  it.each(["short-of-sixteen".slice(1), "x".repeat(513), "with a space in the middle", "kein-schlüssel-äöü"])(
    "is refused when it could be guessed or no header can carry it: %s",
    async (key) => {
      const [problem, ...more] = await problems({ COLLOQUY_ADMIN_KEY: key });
      expect(problem).toMatch(/COLLOQUY_ADMIN_KEY.* 16 to 512 printable/);
      expect(problem).not.toContain(key);
      expect(more).toEqual([]);
    },
  );
});

it("refuses a COLLOQUY_SECRET_KEY that is no key, and does not repeat it", async () => {
  const found = await problems({ COLLOQUY_SECRET_KEY: `${"0f1e".repeat(16)},hunter22` });
  expect(found).toEqual([expect.stringMatching(/^COLLOQUY_SECRET_KEY: must .* openssl rand -base64 32$/)]);
  expect(found.join()).not.toContain("hunter22");
});
