import { concat, encodeFunctionData, numberToHex, parseAbi, slice, type Hex } from "viem";
import { describe, expect, it } from "vitest";
import { readKnownCall } from "./known-calls.ts";

const TOKEN = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const OTHER = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const HASH: Hex = `0x${"ab".repeat(32)}`;

/** Returns the values of `data` by name, and the tokens of its amounts. */
function read(data: Hex) {
  const call = readKnownCall(TOKEN, data);
  if (call === null) return null;
  return {
    values: Object.fromEntries(call.arguments.map(({ name, value }) => [name, value])),
    tokens: Object.fromEntries(
      call.arguments.flatMap(({ name, token }) => (token === null ? [] : [[name, token]])),
    ),
  };
}

function encode(signature: string, args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: parseAbi([`function ${signature}`] as readonly string[]), args });
}

const transfer = encode("transfer(address to, uint256 amount)", [BOB, 25n]);

describe("readKnownCall for a known call", () => {
  it.each([
    ["a9059cbb", "transfer(address,uint256)", [BOB, 25n], { to: BOB, amount: "25" }, { amount: TOKEN }],
    [
      "23b872dd",
      "transferFrom(address,address,uint256)",
      [ALICE, BOB, 7n],
      { from: ALICE, to: BOB, amountOrId: "7" },
      { amountOrId: TOKEN },
    ],
    [
      "095ea7b3",
      "approve(address,uint256)",
      [BOB, 2n ** 256n - 1n],
      { spender: BOB, amountOrId: String(2n ** 256n - 1n) },
      { amountOrId: TOKEN },
    ],
    [
      "39509351",
      "increaseAllowance(address,uint256)",
      [BOB, 5n],
      { spender: BOB, amountAdded: "5" },
      { amountAdded: TOKEN },
    ],
    ["a22cb465", "setApprovalForAll(address,bool)", [BOB, true], { operator: BOB, approved: "true" }, {}],
    [
      "42842e0e",
      "safeTransferFrom(address,address,uint256)",
      [ALICE, BOB, 7n],
      { from: ALICE, to: BOB, tokenId: "7" },
      {},
    ],
    [
      "b88d4fde",
      "safeTransferFrom(address,address,uint256,bytes)",
      [ALICE, BOB, 7n, "0x12"],
      { tokenId: "7", data: "0x12" },
      {},
    ],
    [
      "d505accf",
      "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
      [ALICE, BOB, 5n, 9n, 27, HASH, HASH],
      { owner: ALICE, spender: BOB, amount: "5", deadline: "9", v: "27", r: HASH, s: HASH },
      { amount: TOKEN },
    ],
    [
      "8fcbaf0c",
      "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)",
      [ALICE, BOB, 1n, 9n, true, 27, HASH, HASH],
      { holder: ALICE, spender: BOB, allowed: "true" },
      {},
    ],
    [
      "87517c45",
      "approve(address,address,uint160,uint48)",
      [OTHER, BOB, 5n, 9],
      { token: OTHER, spender: BOB, amount: "5", expiration: "9" },
      { amount: OTHER },
    ],
    [
      "2b67b570",
      "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)",
      [ALICE, [[OTHER, 5n, 9, 1], BOB, 10n], "0x1234"],
      {
        owner: ALICE,
        "permitSingle.details.token": OTHER,
        "permitSingle.details.amount": "5",
        "permitSingle.spender": BOB,
        signature: "0x1234",
      },
      { "permitSingle.details.amount": OTHER },
    ],
    [
      "2a2d80d1",
      "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)",
      [
        ALICE,
        [
          [
            [OTHER, 5n, 9, 1],
            [TOKEN, 6n, 9, 1],
          ],
          BOB,
          10n,
        ],
        "0x",
      ],
      {
        "permitBatch.details[0].amount": "5",
        "permitBatch.details[1].amount": "6",
        "permitBatch.spender": BOB,
      },
      { "permitBatch.details[0].amount": OTHER, "permitBatch.details[1].amount": TOKEN },
    ],
    [
      "36c78516",
      "transferFrom(address,address,uint160,address)",
      [ALICE, BOB, 5n, OTHER],
      { from: ALICE, to: BOB, amount: "5", token: OTHER },
      { amount: OTHER },
    ],
    [
      "0d58b1db",
      "transferFrom((address,address,uint160,address)[])",
      [[[ALICE, BOB, 5n, OTHER]]],
      { "transferDetails[0].to": BOB, "transferDetails[0].amount": "5" },
      { "transferDetails[0].amount": OTHER },
    ],
    [
      "30f28b7a",
      "permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)",
      [[[OTHER, 5n], 1n, 9n], [BOB, 4n], ALICE, "0x12"],
      {
        "permit.permitted.amount": "5",
        "transferDetails.to": BOB,
        "transferDetails.requestedAmount": "4",
        owner: ALICE,
      },
      { "permit.permitted.amount": OTHER },
    ],
    [
      "edd9444b",
      "permitTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes)",
      [[[[OTHER, 5n]], 1n, 9n], [[BOB, 4n]], ALICE, "0x12"],
      { "permit.permitted[0].amount": "5", "transferDetails[0].to": BOB },
      { "permit.permitted[0].amount": OTHER },
    ],
    [
      "137c29fe",
      "permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)",
      [[[OTHER, 5n], 1n, 9n], [BOB, 4n], ALICE, HASH, "Order order)", "0x12"],
      { "permit.permitted.amount": "5", witness: HASH, witnessTypeString: "Order order)" },
      { "permit.permitted.amount": OTHER },
    ],
    [
      "fe8ec1a7",
      "permitWitnessTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes32,string,bytes)",
      [[[[OTHER, 5n]], 1n, 9n], [[BOB, 4n]], ALICE, HASH, "", "0x12"],
      { "permit.permitted[0].amount": "5" },
      { "permit.permitted[0].amount": OTHER },
    ],
  ] as const)("decodes the selector %s: %s", (selector, signature, args, values, tokens) => {
    const data = encode(signature, args);
    expect(slice(data, 0, 4)).toBe(`0x${selector}`);
    const call = read(data);
    expect(call?.values).toMatchObject(values);
    expect(call?.tokens).toEqual(tokens);
  });

  it("returns the signature", () => {
    expect(readKnownCall(TOKEN, transfer)?.signature).toBe("transfer(address to, uint256 amount)");
  });
});

describe("readKnownCall for an unknown call", () => {
  const word = (value: bigint): Hex => numberToHex(value, { size: 32 });
  const dirty = concat([slice(transfer, 0, 4), "0x01", slice(transfer, 5)]);
  const single = encode("permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)", [
    ALICE,
    [[OTHER, 5n, 9, 1], BOB, 10n],
    "0x1234",
  ]);

  it.each<readonly [string, Hex]>([
    ["no data", "0x"],
    ["less than a selector", "0xa9059c"],
    ["only a selector", "0xa9059cbb"],
    ["another selector", concat(["0xa9059cbc", slice(transfer, 4)])],
    ["a missing argument", slice(transfer, 0, 36)],
    ["trailing bytes", concat([transfer, "0x00"])],
    ["a trailing word", concat([transfer, word(0n)])],
    ["dirty upper bytes of an address", dirty],
    ["a bool that is neither 0 nor 1", concat(["0xa22cb465", word(BigInt(BOB)), word(2n)])],
    [
      "an amount that exceeds its type",
      concat(["0x87517c45", word(BigInt(OTHER)), word(BigInt(BOB)), word(2n ** 160n), word(9n)]),
    ],
    ["dirty padding of a signature", `${single.slice(0, -1)}1` as Hex],
    ["a non-canonical offset", single.replace(word(256n).slice(2), word(288n).slice(2)) as Hex],
    ["a length beyond the data", single.replace(word(2n).slice(2), word(2n ** 64n).slice(2)) as Hex],
    [
      "invalid UTF-8",
      concat([
        slice(
          encode(
            "permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)",
            [[[OTHER, 5n], 1n, 9n], [BOB, 4n], ALICE, HASH, "A", "0x"],
          ),
          0,
          -64,
        ),
        "0xff",
        numberToHex(0n, { size: 31 }),
        word(0n),
      ]),
    ],
    [
      "a batch that is too large",
      encode("transferFrom((address,address,uint160,address)[])", [
        Array.from({ length: 33 }, () => [ALICE, BOB, 5n, OTHER]),
      ]),
    ],
  ])("returns null for %s", (_what, data) => {
    expect(readKnownCall(TOKEN, data)).toBeNull();
  });
});
