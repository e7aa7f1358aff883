// Decodes transaction data as a call to a token or to Permit2. The result is what a person approves, so data
// that a contract could decode differently is not decoded.

import {
  decodeAbiParameters,
  encodeAbiParameters,
  parseAbi,
  size,
  slice,
  toFunctionSelector,
  type AbiFunction,
  type AbiParameter,
  type Address,
  type Hex,
} from "viem";
import { formatAbiItem } from "viem/utils";

export interface CallArgument {
  /** Name of the parameter. For a value in a struct or array, its path: `details[0].amount`. */
  readonly name: string;
  readonly type: string;
  readonly value: string;
  /** Token contract, if the value is an amount of a token; `null` otherwise. */
  readonly token: Address | null;
}

export interface KnownCall {
  /** Solidity signature: `transfer(address to, uint256 amount)`. */
  readonly signature: string;
  readonly arguments: readonly CallArgument[];
}

/**
 * ERC-20 and ERC-721 share `transferFrom` and `approve`, whose data does not distinguish an amount from a
 * token id. A parameter whose name begins with `amount` is an amount of the sibling parameter `token` if
 * there is one, or else of the called contract.
 */
const KNOWN = parseAbi([
  "function transfer(address to, uint256 amount)",
  "function transferFrom(address from, address to, uint256 amountOrId)",
  "function approve(address spender, uint256 amountOrId)",
  "function increaseAllowance(address spender, uint256 amountAdded)",
  "function permit(address owner, address spender, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s)",
  // Functions of DAI
  "function permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)",
  // Functions of ERC-721 and ERC-1155
  "function setApprovalForAll(address operator, bool approved)",
  "function safeTransferFrom(address from, address to, uint256 tokenId)",
  "function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)",
  // Functions of Permit2
  "struct PermitDetails { address token; uint160 amount; uint48 expiration; uint48 nonce; }",
  "struct PermitSingle { PermitDetails details; address spender; uint256 sigDeadline; }",
  "struct PermitBatch { PermitDetails[] details; address spender; uint256 sigDeadline; }",
  "struct AllowanceTransferDetails { address from; address to; uint160 amount; address token; }",
  "struct TokenPermissions { address token; uint256 amount; }",
  "struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }",
  "struct PermitBatchTransferFrom { TokenPermissions[] permitted; uint256 nonce; uint256 deadline; }",
  "struct SignatureTransferDetails { address to; uint256 requestedAmount; }",
  "function approve(address token, address spender, uint160 amount, uint48 expiration)",
  "function permit(address owner, PermitSingle permitSingle, bytes signature)",
  "function permit(address owner, PermitBatch permitBatch, bytes signature)",
  "function transferFrom(address from, address to, uint160 amount, address token)",
  "function transferFrom(AllowanceTransferDetails[] transferDetails)",
  "function permitTransferFrom(PermitTransferFrom permit, SignatureTransferDetails transferDetails, address owner, bytes signature)",
  "function permitTransferFrom(PermitBatchTransferFrom permit, SignatureTransferDetails[] transferDetails, address owner, bytes signature)",
  "function permitWitnessTransferFrom(PermitTransferFrom permit, SignatureTransferDetails transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature)",
  "function permitWitnessTransferFrom(PermitBatchTransferFrom permit, SignatureTransferDetails[] transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature)",
]);

const BY_SELECTOR: ReadonlyMap<Hex, AbiFunction> = new Map(
  KNOWN.map((known) => [toFunctionSelector(known), known]),
);
/** Maximum number of values. Calls with more are treated as unknown. */
const MAX_ARGUMENTS = 128;

/**
 * Decodes `data`, in lower-case hexadecimal, as a call to the contract `to`. Returns `null` for an unknown
 * function, and for data that differs from its canonical encoding (dirty upper bytes of an address, trailing
 * bytes), which contracts may decode differently.
 */
export function readKnownCall(to: Address, data: Hex): KnownCall | null {
  const known = size(data) <= 4 ? undefined : BY_SELECTOR.get(slice(data, 0, 4));
  if (known === undefined) return null;
  const values = decodeExactly(known.inputs, slice(data, 4));
  if (values === null) return null;
  const named: CallArgument[] = [];
  addFields(named, { fields: known.inputs, values, prefix: "", token: to });
  return named.length > MAX_ARGUMENTS
    ? null
    : { signature: formatAbiItem(known, { includeName: true }), arguments: named };
}

function decodeExactly(parameters: readonly AbiParameter[], data: Hex): readonly unknown[] | null {
  try {
    const values = decodeAbiParameters(parameters, data);
    return encodeAbiParameters(parameters, values) === data ? values : null;
  } catch {
    return null;
  }
}

interface Fields {
  readonly fields: readonly AbiParameter[];
  /** Values in an array, or in an object by field name. */
  readonly values: unknown;
  readonly prefix: string;
  /** Token of the amounts that have no sibling `token`. */
  readonly token: Address;
}

function addFields(named: CallArgument[], { fields, values, prefix, token }: Fields): void {
  const valueAt = (index: number): unknown =>
    Array.isArray(values)
      ? values[index]
      : (values as Readonly<Record<string, unknown>>)[fields[index]?.name ?? ""];
  const beside = fields.findIndex(({ name, type }) => name === "token" && type === "address");
  const own = beside === -1 ? token : (valueAt(beside) as Address);
  for (const [index, field] of fields.entries())
    addValue(named, field, valueAt(index), { prefix, token: own });
}

function addValue(
  named: CallArgument[],
  field: AbiParameter,
  value: unknown,
  place: Pick<Fields, "prefix" | "token">,
): void {
  const { name = "", type } = field;
  const path = `${place.prefix}${name}`;
  if (type.endsWith("[]")) {
    const item = { ...field, type: type.slice(0, -2) };
    for (const [index, one] of (value as readonly unknown[]).entries())
      addValue(named, { ...item, name: `${name}[${index}]` }, one, place);
  } else if ("components" in field) {
    addFields(named, { ...place, fields: field.components, values: value, prefix: `${path}.` });
  } else {
    named.push({
      name: path,
      type,
      value: String(value),
      token: name.startsWith("amount") ? place.token : null,
    });
  }
}
