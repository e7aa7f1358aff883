// Assembles contracts with canned answers by hand: the way to create tokens that misbehave in any way.

import { concat, keccak256, numberToHex, size, type Hex } from "viem";

export interface CannedAnswer {
  /** The exact call data. */
  readonly call: Hex;
  readonly returns?: Hex;
  readonly reverts?: Hex;
}

const word2 = (value: number): Hex => numberToHex(value, { size: 2 });

/**
 * Returns code that deploys a contract with these answers, which reverts without data on every other call.
 */
export function cannedContract(answers: readonly CannedAnswer[]): Hex {
  // CALLDATACOPY(0, 0, CALLDATASIZE); KECCAK256(0, CALLDATASIZE)
  const start: Hex = "0x365f5f37365f20";
  const branchSize = 1 + 33 + 1 + 3 + 1;
  const blockSize = 1 + 3 + 3 + 1 + 1 + 3 + 1 + 1;
  const stop: Hex = "0x5f5ffd"; // REVERT(0, 0)
  const blocksAt = size(start) + answers.length * branchSize + size(stop);
  let dataAt = blocksAt + answers.length * blockSize;
  const branches: Hex[] = [];
  const blocks: Hex[] = [];
  const data: Hex[] = [];
  for (const [index, { call, returns, reverts }] of answers.entries()) {
    const answer = returns ?? reverts ?? "0x";
    // DUP1 PUSH32 hash EQ PUSH2 block JUMPI
    const jump = word2(blocksAt + index * blockSize);
    branches.push(concat(["0x80", "0x7f", keccak256(call), "0x14", "0x61", jump, "0x57"]));
    // JUMPDEST CODECOPY(0, data, length), then RETURN or REVERT(0, length)
    const length = word2(size(answer));
    const end: Hex = reverts === undefined ? "0xf3" : "0xfd";
    blocks.push(
      concat(["0x5b", "0x61", length, "0x61", word2(dataAt), "0x5f", "0x39", "0x61", length, "0x5f", end]),
    );
    data.push(answer);
    dataAt += size(answer);
  }
  return deployment(concat([start, ...branches, stop, ...blocks, ...data]));
}

/** CODECOPY(0, 10, length); RETURN(0, length), followed by the contract's code. */
export function deployment(code: Hex): Hex {
  return concat(["0x61", word2(size(code)), "0x80600a5f395ff3", code]);
}
