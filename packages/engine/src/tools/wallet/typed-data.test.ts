import { hashTypedData, type TypedDataDefinition } from "viem";
import { describe, expect, it } from "vitest";
import type { ChainSettings } from "../../core/app-settings.ts";
import { Hidden } from "../../core/hidden.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { readTypedData } from "./typed-data.ts";

const currency = { symbol: "ETH", decimals: 18 };
const rpcURL = new Hidden("http://127.0.0.1:1");
const chains: ChainSettings[] = [{ id: 1, name: "Ethereum", rpcURL, currency, contracts: null }];
const cow = "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826";
const bob = "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB";

/** The example from EIP-712. */
const mail = {
  types: {
    EIP712Domain: [
      { name: "name", type: "string" },
      { name: "version", type: "string" },
      { name: "chainId", type: "uint256" },
      { name: "verifyingContract", type: "address" },
    ],
    Person: [
      { name: "name", type: "string" },
      { name: "wallet", type: "address" },
    ],
    Mail: [
      { name: "from", type: "Person" },
      { name: "to", type: "Person" },
      { name: "contents", type: "string" },
    ],
  },
  primaryType: "Mail",
  domain: {
    name: "Ether Mail",
    version: "1",
    chainId: 1,
    verifyingContract: "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
  },
  message: { from: { name: "Cow", wallet: cow }, to: { name: "Bob", wallet: bob }, contents: "Hello, Bob!" },
};

const read = (value: object): JsonObject => readTypedData(value as JsonObject, chains);

/** Creates typed data with one field `x` of type `type`. */
function one(type: string, x: JsonValue | undefined, types: object = {}): object {
  const message = x === undefined ? {} : { x };
  return {
    types: { ...types, One: [{ name: "x", type }] },
    primaryType: "One",
    domain: { chainId: 1 },
    message,
  };
}

describe("readTypedData", () => {
  it("returns valid data unchanged, with the hash of the EIP-712 example", () => {
    const checked = read(mail);
    expect(checked).toEqual(mail);
    expect(hashTypedData(checked as unknown as TypedDataDefinition)).toBe(
      "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2",
    );
  });

  it("adds a missing domain type, in the standard's order of fields", () => {
    const { EIP712Domain, ...types } = mail.types;
    const { verifyingContract, chainId: _, ...domain } = mail.domain;
    const shuffled = { verifyingContract, chainId: "0x1", ...domain };
    expect(read({ ...mail, types, domain: shuffled })).toMatchObject({
      types: { EIP712Domain },
      domain: { chainId: 1 },
    });
  });

  it.each([
    [{ chainId: 5 }, "domain.chainId: The chain 5 is not configured. There are: 1 (Ethereum)."],
    [{}, "domain.chainId is missing"],
    [{ chainId: "one" }, "domain.chainId is missing or not a number"],
    [{ chainId: 1, chain: 1 }, "domain has a field that is not in types.EIP712Domain"],
    [{ chainId: 1, verifyingContract: `${cow.slice(0, -1)}5` }, "domain.verifyingContract does not fit"],
    [{ chainId: 1, salt: "0x00" }, "domain.salt does not fit its type bytes32"],
  ])("rejects the domain %j", (domain, reason) => {
    expect(() => read({ ...one("bool", true), domain })).toThrow(reason);
  });

  it.each([
    [
      { EIP712Domain: [] },
      "domain has a field that is not in types.EIP712Domain, so it would not be signed: chainId",
    ],
    [
      { EIP712Domain: [{ name: "chainId", type: "string" }] },
      "has a field that EIP-712 does not define: string chainId",
    ],
    [{ uint256: [] }, '"uint256" cannot be the name of a type'],
    [{ "a b": [] }, '"a b" cannot be the name of a type'],
    [
      {
        Two: [
          { name: "a", type: "bool" },
          { name: "a", type: "bool" },
        ],
      },
      "types.Two names a field twice",
    ],
    [{ Two: [{ name: "a b", type: "bool" }] }, "types.Two"],
    [{ Two: "bool" }, "types.Two"],
    [Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`T${index}`, []])), "more than 64 types"],
  ])("rejects the types %j", (types, reason) => {
    expect(() => read(one("bool", true, types))).toThrow(reason);
  });

  it.each([["Nothing"], ["EIP712Domain"], ["toString"], ["__proto__"]])(
    "rejects the primary type %s",
    (name) => {
      expect(() => read({ ...mail, primaryType: name })).toThrow(
        `primaryType is "${name}", which is not in types`,
      );
    },
  );

  it("rejects fields that would not be signed, and missing fields", () => {
    const extra = { ...mail, message: { ...mail.message, to: { ...mail.message.to, amount: "1" } } };
    expect(() => read(extra)).toThrow(
      "message.to has a field that is not in types.Person, so it would not be signed: amount.",
    );
    expect(() => read({ ...mail, message: { ...mail.message, to: { name: "Bob" } } })).toThrow(
      "message.to.wallet is missing",
    );
    expect(() => read({ ...mail, note: "?" })).toThrow("The typed data is invalid");
  });

  it.each<[string, JsonValue]>([
    ["uint8", 255],
    ["uint256", `${2n ** 256n - 1n}`],
    ["uint256", "0xff"],
    ["int8", -128],
    ["int256", "-5"],
    ["bytes", "0x"],
    ["bytes3", "0x010203"],
    ["address", cow.toLowerCase()],
    ["string[]", []],
    [
      "uint8[2][]",
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ["Person[]", [{ name: "Cow", wallet: cow }]],
  ])("accepts a %s of %j, which viem can hash", (type, value) => {
    const checked = read(one(type, value, { Person: mail.types.Person }));
    expect(hashTypedData(checked as unknown as TypedDataDefinition)).toMatch(/^0x[0-9a-f]{64}$/);
  });

  it.each<[string, JsonValue | undefined, string]>([
    ["uint8", 256, "message.x does not fit its type uint8"],
    ["uint8", -1, "does not fit"],
    ["int8", 128, "does not fit"],
    ["uint256", 2 ** 60, "does not fit"],
    ["uint256", 1.5, "does not fit"],
    ["uint256", "1e3", "does not fit"],
    ["uint", 1, 'has the type "uint", which does not exist'],
    ["uint7", 1, "does not exist"],
    ["uint257", 1, "does not exist"],
    ["uint100", 1, 'has the type "uint100", which does not exist'],
    ["bytes33", "0x", "does not exist"],
    ["bytes3", "0x0102", "does not fit"],
    ["bytes", "0x1", "does not fit"],
    ["bool", "true", "does not fit"],
    ["string", 5, "does not fit"],
    ["address", cow.replace("CD", "cD"), "does not fit its type address"],
    ["Missing", {}, 'has the type "Missing", which does not exist'],
    ["constructor", {}, "which does not exist"],
    ["string[]", "a", "is not a list"],
    ["string[2]", ["a"], "does not have 2 items"],
    ["uint8[]", [1, 256], "message.x[1] does not fit"],
    ["Person", [], "is not an object with the fields of Person"],
    ["bool", null, "does not fit"],
    ["bool", undefined, "message.x is missing"],
  ])("rejects a %s of %j", (type, value, reason) => {
    expect(() => read(one(type, value, { Person: mail.types.Person }))).toThrow(reason);
  });

  it("rejects data that viem cannot encode", () => {
    const data = one("intent", { a: true }, { intent: [{ name: "a", type: "bool" }] });
    expect(() => read(data)).toThrow('The typed data is invalid: Struct type "intent" is invalid.');
  });

  it("rejects data of more than 16 KiB or 12 levels", () => {
    expect(() => read(one("string", "x".repeat(16 * 1_024)))).toThrow("more than 16 KiB");
    let deep: JsonValue = 1;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(() => read(one("uint8", deep))).toThrow("nested deeper than 12 levels");
  });

  it("accepts recursive types", () => {
    const tree = { Node: [{ name: "next", type: "Node[]" }] };
    const data = one("Node", { next: [{ next: [] }, { next: [{ next: [] }] }] }, tree);
    expect(read(data)).toMatchObject({ primaryType: "One" });
  });
});
