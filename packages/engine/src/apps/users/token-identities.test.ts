import { describe, expect, it } from "vitest";
import { digestOf, identitiesOf } from "./token-identities.ts";

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const INPUT = `${part({ alg: "RS256" })}.${part({ sub: "alice" })}`;

describe("the ids of a token", () => {
  it("begin with that of its signed part, which tokens of wallets keep", () => {
    expect(identitiesOf(`${INPUT}.AAAA`, {})).toEqual([digestOf([INPUT]), digestOf([`${INPUT}.AAAA`])]);
    expect(identitiesOf(`${INPUT}.BBBB`, {})[0]).toBe(digestOf([INPUT]));
  });

  it("are only its jti if it has one, together with its issuer", () => {
    const ids = ["https://a.test", "https://b.test"].map((iss) =>
      identitiesOf(`${INPUT}.AAAA`, { iss, jti: "one" }),
    );
    expect(ids).toEqual([[digestOf(["https://a.test", "one"])], [digestOf(["https://b.test", "one"])]]);
  });
});
