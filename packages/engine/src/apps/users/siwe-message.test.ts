import { describe, expect, it } from "vitest";
import { createSiweMessage } from "viem/siwe";
import { ServiceError } from "../../core/errors.ts";
import { readMessage } from "./siwe-message.ts";

const ADDRESS = "0xA0Cf798816D4b9b9866b5330EEa46a18382f251e";
const NOW = Date.parse("2026-11-20T12:00:00.000Z");
const MINUTE = 60_000;
const DOMAINS = ["chat.example.com", "localhost:3000", "[::1]:8080"];
const HEADER = "chat.example.com wants you to sign in with your Ethereum account:";
const FIELDS = [
  "URI: https://chat.example.com/login",
  "Version: 1",
  "Chain ID: 1",
  "Nonce: 32891756ab",
  "Issued At: 2026-11-20T12:00:00.000Z",
];
const VALID = [HEADER, ADDRESS, "", "", ...FIELDS].join("\n");
const WITH_STATEMENT = [HEADER, ADDRESS, "", "I accept the terms.", "", ...FIELDS].join("\n");

const written = (changes: Partial<Parameters<typeof createSiweMessage>[0]> = {}): string =>
  createSiweMessage({
    address: ADDRESS,
    domain: "chat.example.com",
    uri: "https://chat.example.com",
    version: "1",
    chainId: 1,
    nonce: "32891756ab",
    issuedAt: new Date(NOW),
    ...changes,
  });

const read = (text: string, now = NOW) => readMessage(text, now, DOMAINS);
const codeOf = (text: string, now = NOW) => {
  const result = read(text, now);
  return result instanceof ServiceError ? result.code : "accepted";
};
/** Returns the problem code, and the sentence that says what to change. */
const problemOf = (text: string, now = NOW): string => {
  const result = read(text, now);
  return result instanceof ServiceError ? `${result.code}: ${result.detail}` : "accepted";
};

describe("a sign-in message", () => {
  it("is returned with its parts", () => {
    const text = written({ chainId: 8453, expirationTime: new Date(NOW + MINUTE) });
    expect(read(text)).toEqual({
      text,
      address: ADDRESS,
      nonce: "32891756ab",
      chainId: 8453,
      end: NOW + MINUTE,
    });
  });

  it.each<[string, string]>([
    ["viem without a statement", written()],
    [
      "viem with every part",
      written({
        scheme: "https",
        statement: "I accept the terms: https://chat.example.com/terms",
        expirationTime: new Date(NOW + MINUTE),
        notBefore: new Date(0),
        requestId: "some-id_1%20:@",
        resources: [
          "ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/",
          "urn:recap:eyJhdHQiOnt9fQ==",
        ],
      }),
    ],
    ["viem with an empty list of resources", written({ resources: [] })],
    ["viem with a statement in another language", written({ statement: "Melde dich an: „Grüße“ 👋🏽 它" })],
    [
      "viem for a host with a port",
      written({ domain: "localhost:3000", uri: "http://localhost:3000/app?a=b#c" }),
    ],
    ["siwe without a statement (two empty lines)", VALID],
    ["siwe with an empty statement (three empty lines)", VALID.replace("\n\n\n", "\n\n\n\n")],
    ["siwe with a statement that has an apostrophe", WITH_STATEMENT.replace("the terms", "the club's terms")],
    [
      "a statement that looks like a field",
      WITH_STATEMENT.replace("I accept the terms.", "URI: https://evil.test"),
    ],
    ["a JSON statement", WITH_STATEMENT.replace("I accept the terms.", '{"method":"POST","body":"{}"}')],
    ["times without milliseconds, and with an offset", VALID.replace("12:00:00.000Z", "14:00:00+02:00")],
    ["times with microseconds", VALID.replace("12:00:00.000Z", "11:59:59.123456Z")],
    ["an empty request id", `${VALID}\nRequest ID: `],
    ["a domain in another case", VALID.replace(HEADER, HEADER.replace("chat", "Chat"))],
    ["a URI with the default port", VALID.replace("chat.example.com/login", "chat.example.com:443/login")],
    [
      "an IPv6 host",
      VALID.replace(HEADER, HEADER.replace("chat.example.com", "[::1]:8080")).replace(
        "https://chat.example.com",
        "http://[::1]:8080",
      ),
    ],
    ["the scheme of a native app", VALID.replace("https://chat.example.com", "capacitor://chat.example.com")],
  ])("of %s is accepted", (_what, text) => {
    expect(problemOf(text)).toBe("accepted");
  });

  it.each<[string, string, RegExp]>([
    ["free text", "sign in to chat.example.com please", /its first line must be the domain of the page/],
    ["an empty text", "", /its first line must be the domain/],
    ["text before it", `Hello\n${VALID}`, /its first line must be the domain/],
    ["trailing text", `${VALID}\nPay 1 ETH to 0x0`, /it must end after line 9, without more text/],
    ["a trailing line feed", `${VALID}\n`, /it must end after line 9/],
    ["text behind a field", `${VALID} `, /its Issued At must be a time/],
    ["CRLF", VALID.replaceAll("\n", "\r\n"), /line feed \(\\n\) alone, without a carriage return/],
    [
      "a statement with a direction mark",
      WITH_STATEMENT.replace("I accept", "I \u202eaccept"),
      /statement must be one line without control characters and direction marks/,
    ],
    ["one empty line for an absent statement", VALID.replace("\n\n\n", "\n\n"), /line \d must/],
    [
      "a second statement",
      WITH_STATEMENT.replace("terms.\n\n", "terms.\nAnd more.\n"),
      /line 5 must be empty/,
    ],
    ["text in the empty line", VALID.replace(`${ADDRESS}\n\n`, `${ADDRESS}\nx\n`), /line 3 must be empty/],
    [
      "a control character",
      WITH_STATEMENT.replace("accept", "acc\u0000ept"),
      /its statement must be one line/,
    ],
    ["a line separator", WITH_STATEMENT.replace("accept", "acc\u2028ept"), /its statement must be one line/],
    [
      "a duplicate field",
      VALID.replace("Nonce: ", "Nonce: otherNonce1\nNonce: "),
      /line 9 must begin with "Issued At: "/,
    ],
    [
      "a duplicate URI",
      VALID.replace("URI: ", "URI: https://evil.test\nURI: "),
      /line 6 must begin with "Version: "/,
    ],
    ["duplicate resources", `${VALID}\nResources:\nResources:`, /line 11 must be "- Resources:"/],
    [
      "resources without a dash",
      `${VALID}\nResources:\nhttps://a.test`,
      /line 11 must be "- https:\/\/a.test"/,
    ],
    ["a resource that is no URI", `${VALID}\nResources:\n- a b`, /each line after "Resources:"/],
    [
      "fields in another order",
      VALID.replace(/(Version: 1)\n(Chain ID: 1)/, "$2\n$1"),
      /line 6 must begin with "Version: "/,
    ],
    ["a missing field", VALID.replace("Chain ID: 1\n", ""), /line 7 must begin with "Chain ID: "/],
    ["another version", VALID.replace("Version: 1", "Version: 2"), /its Version must be 1/],
    [
      "a chain id with leading zeros",
      VALID.replace("ID: 1", "ID: 01"),
      /its Chain ID must be a decimal number/,
    ],
    [
      "a chain id that no number can hold",
      VALID.replace("ID: 1", "ID: 9007199254740993"),
      /its Chain ID must be/,
    ],
    ["a short nonce", VALID.replace("32891756ab", "abc"), /its Nonce must be at least 8/],
    [
      "a time of Date.parse",
      VALID.replace("2026-11-20T12:00:00.000Z", "Fri, 20 Nov 2026 12:00:00 GMT"),
      /its Issued At must be a time in RFC 3339/,
    ],
    ["an hour that does not exist", VALID.replace("T12:", "T25:"), /its Issued At must be a time/],
    ["a relative URI", VALID.replace("https://chat.example.com/login", "/login"), /its URI must be a URI/],
    [
      "an address in lower case",
      VALID.replace(ADDRESS, ADDRESS.toLowerCase()),
      new RegExp(`line 2 must be "${ADDRESS}"`),
    ],
    ["a wrong checksum", VALID.replace("0xA0C", "0xa0C"), new RegExp(`line 2 must be "${ADDRESS}"`)],
    ["a name for an address", VALID.replace(ADDRESS, "alice.eth"), /its second line must be an address/],
    ["a full-width domain", VALID.replace("chat", "ｃhat"), /its domain must be ASCII/],
    [
      "a domain that is ASCII in lower case only (U+212A)",
      VALID.replace(/^chat\.example/, "chat.\u212aexample"),
      /its domain must be ASCII/,
    ],
  ])("with %s is refused, with what to change", (_what, text, change) => {
    expect(problemOf(text)).toMatch(change);
    expect(codeOf(text)).toBe("siwe_message_invalid");
  });

  it.each<[string, string]>([
    ["another domain", VALID.replaceAll("chat.example.com", "evil.test")],
    ["another port", VALID.replaceAll("chat.example.com", "chat.example.com:8443")],
    ["user information before the domain", VALID.replace(/^/, "alice@")],
    ["a subdomain", VALID.replace(/^/, "www.")],
  ])("for %s is refused", (_what, text) => {
    expect(problemOf(text)).toMatch(/^siwe_domain_refused: The message is for another domain/);
  });

  it.each<[string, string]>([
    ["another host", "https://evil.test/login"],
    ["another port", "https://chat.example.com:8443"],
    ["the default port of another scheme", "https://chat.example.com:80"],
    ["the domain as user information", "https://chat.example.com@evil.test/"],
    ["user information", "https://alice@chat.example.com/"],
    ["the domain in the path", "https://evil.test/chat.example.com"],
    ["the domain behind an escape", "https://chat%2eexample.com/"],
    ["a longer host", "https://chat.example.com.evil.test/"],
    ["no authority", "urn:chat.example.com"],
  ])("whose URI has %s is refused, with the URI to use", (_what, uri) => {
    expect(problemOf(VALID.replace("https://chat.example.com/login", uri))).toMatch(
      /^siwe_domain_refused: The message's URI is not of its domain\..*https:\/\/chat\.example\.com\.$/,
    );
  });

  it("whose scheme is not that of its URI is refused", () => {
    expect(codeOf(`https://${VALID}`)).toBe("accepted");
    expect(problemOf(`http://${VALID}`)).toMatch(
      /^siwe_domain_refused: The message's URI is not of its domain/,
    );
  });

  it("is valid for an hour after its Issued At, and a minute before", () => {
    expect(codeOf(VALID, NOW + 60 * MINUTE)).toBe("accepted");
    expect(problemOf(VALID, NOW + 60 * MINUTE + 1)).toMatch(
      /^siwe_message_expired: The message's Issued At is over an hour ago\. Sign a new one .* 2026-11-20T13:00:00\.001Z\.$/,
    );
    expect(codeOf(VALID, NOW - MINUTE)).toBe("accepted");
    expect(problemOf(VALID, NOW - MINUTE - 1)).toMatch(/^siwe_message_expired: .* is in the future\./);
    for (const issuedAt of [new Date(0), new Date(NOW + 24 * 60 * MINUTE)])
      expect(codeOf(written({ issuedAt }))).toBe("siwe_message_expired");
  });

  it("is not valid from its Expiration Time on, and before its Not Before", () => {
    const until = written({ expirationTime: new Date(NOW + 1) });
    expect([codeOf(until), codeOf(until, NOW + 1)]).toEqual(["accepted", "siwe_message_expired"]);
    const from = written({ notBefore: new Date(NOW + 1) });
    expect([codeOf(from), codeOf(from, NOW + 1)]).toEqual(["siwe_message_expired", "accepted"]);
  });
});
