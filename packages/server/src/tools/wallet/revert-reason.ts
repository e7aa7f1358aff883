import { decodeErrorResult, parseAbi, type Hex } from "viem";
import { plainLine, type RpcRefusal } from "./rpc-failures.ts";

const solidityErrors = parseAbi(["error Error(string)", "error Panic(uint256)"]);

/** Returns the reason of a revert as part of a sentence: the contract's, else the server's message. */
export function revertReason({ data, message }: RpcRefusal): string {
  if (data === null || data === "0x") return message;
  return decodeReason(data) ?? `the contract's error ${data.slice(0, 10)}`;
}

function decodeReason(data: Hex): string | null {
  try {
    const { errorName, args } = decodeErrorResult({ abi: solidityErrors, data });
    if (errorName === "Error") return `"${plainLine(args[0])}"`;
    return reasonOfPanic(args[0]);
  } catch {
    return null;
  }
}

/** Common Solidity panic codes. */
const panics: ReadonlyMap<bigint, string> = new Map([
  [0x01n, "an assertion failed"],
  [0x11n, "an overflow in arithmetic"],
  [0x12n, "a division by zero"],
  [0x31n, "an empty array"],
  [0x32n, "an index out of bounds"],
  [0x41n, "too much memory"],
]);

function reasonOfPanic(code: bigint): string {
  return `the contract panics: ${panics.get(code) ?? `code ${code}`}`;
}
