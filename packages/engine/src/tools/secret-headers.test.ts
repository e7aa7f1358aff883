import { describe, expect, it } from "vitest";
import { createScrubber } from "./scrub.ts";
import { headerScrubber, keysInVariables } from "./secret-headers.ts";

function scrubbed(name: string, value: string, said: string): unknown {
  return createScrubber(keysInVariables([[name, value]]))(said);
}

describe("keysInVariables", () => {
  it.each([
    ["API_KEY", "operatorskey", "operatorskey"],
    ["DATABASE_URL", "postgres://shop:pass%2Fw0rd@db.test/shop", "pass%2Fw0rd"],
    ["DATABASE_URL", "postgres://shop:pass%2Fw0rd@db.test/shop", "pass/w0rd"],
    ["BROKERS", "amqp://shop:hunt@er@a.test,b.test/x", "hunt@er"],
    ["SENTRY", "https://abcdef0123@errors.test/4", "abcdef0123"],
    ["HOOK", "https://hooks.test/services/T00/x7Gh2kLm9QwErTy4", "x7Gh2kLm9QwErTy4"],
    ["SERVICE", "https://api.test/v1?k=zz91-kq02", "zz91-kq02"],
    ["DSN", "Server=db;User=sa;Pwd=x1", "Server=db;User=sa;Pwd=x1"],
    ["SETTING", "9f8e7d6c5b4a", "9f8e7d6c5b4a"],
    ["PASSPHRASE", "correct horsebattery staple", "horsebattery"],
  ])("hides a secret: %s=%s", (name, value, said) => {
    expect(scrubbed(name, value, `I know ${said}!`)).toBe("I know [secret]!");
  });

  it.each([
    ["MODE", "production"],
    ["REGION", "eu-central-1"],
    ["LANG", "en_US.UTF-8"],
    ["ROOT", "/srv/files/of the shop"],
    ["PATHS", "/usr/bin:/usr/local/bin"],
    ["SERVICE", "https://api.test/v1/things"],
    ["DATABASE_URL", "postgres://postgres:secret-1@db.test/shop"],
    ["SHORT", "x-1"],
  ])("keeps a word, a path or an address: %s=%s", (name, value) => {
    const said = `in ${value.replace(":secret-1", "")} of postgres`;
    expect(scrubbed(name, value, said)).toBe(said);
  });
});

it("headerScrubber hides all header values and the client's secrets", () => {
  const scrub = headerScrubber({ "X-Shop": "Shop wordsonly", "X-User": "Token {{secret.KEY}}" }, [
    "users-key",
  ]);
  expect(scrub("wordsonly, users-key, Token")).toBe("[secret], [secret], Token");
});
