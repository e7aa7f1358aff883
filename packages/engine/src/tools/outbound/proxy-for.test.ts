import { describe, expect, it } from "vitest";
import { Hidden } from "../../core/hidden.ts";
import { ProxyFailure, type Proxies } from "../../core/proxies.ts";
import { proxyFor } from "./proxy-for.ts";

const proxy = (url: string) => new Hidden(new URL(url));
const both: Proxies = { https: proxy("http://secure:3128"), http: proxy("http://plain:3128"), direct: [] };
const by = (url: string, proxies: Partial<Proxies> = {}) =>
  proxyFor(new URL(url), { ...both, ...proxies })?.host ?? null;

describe("proxyFor", () => {
  it("uses one proxy for https and one for http", () => {
    expect([by("https://a.test"), by("http://a.test")]).toEqual(["secure:3128", "plain:3128"]);
    expect(by("https://a.test", { https: null })).toBeNull();
  });

  it.each(["localhost", "app.localhost", "127.0.0.1", "127.9.9.9", "[::1]"])(
    "never uses one for this machine (%s)",
    (host) => {
      expect(by(`http://${host}:8080`)).toBeNull();
    },
  );

  it.each([
    ["*", "https://a.test"],
    ["a.test", "https://a.test"],
    ["A.TEST", "https://a.test"],
    ["a.test", "https://a.test./"],
    ["a.test", "https://b.a.test"],
    [".a.test", "https://b.a.test"],
    ["*.a.test", "https://b.a.test"],
    ["a.test:443", "https://a.test"],
    ["a.test:8443", "https://a.test:8443"],
    ["10.0.0.0/8", "https://10.1.2.3"],
    ["10.1.2.3", "https://10.1.2.3"],
    ["fd00::/8", "https://[fd12::1]"],
    ["fd12::1", "https://[fd12::1]"],
    ["[fd12::1]:443", "https://[fd12::1]"],
  ])("obeys NO_PROXY=%s for %s", (entry, url) => {
    expect(by(url, { direct: ["other.test", entry] })).toBeNull();
  });

  it.each([
    ["a.test", "https://ba.test"],
    ["a.test:8443", "https://a.test"],
    ["10.0.0.0/8", "https://11.1.2.3"],
    ["10.0.0.0/99", "https://10.1.2.3"],
    ["1.2.3", "https://0.1.2.3"],
    ["2.3", "https://1.1.2.3"],
    [":443", "https://a.test"],
    [".", "https://a.test"],
  ])("ignores NO_PROXY=%s for %s", (entry, url) => {
    expect(by(url, { direct: [entry] })).toBe("secure:3128");
  });
});

it("does not quote the password of the proxy", () => {
  const { message, publicReason } = new ProxyFailure(new URL("http://me:pass@proxy:3128"), 407);
  expect([message, publicReason]).toEqual([
    "The proxy proxy:3128 answered with the status 407",
    "the server's proxy refused the connection (status 407)",
  ]);
});
