// Validates EIP-712 typed data for signing, more strictly than viem: a person must see exactly what is
// signed. Every field has a type and every type has its field, at every level, and the domain names a
// configured chain.

import { hashTypedData, type TypedDataDefinition, isAddress } from "viem";
import { z } from "zod";
import type { ChainSettings } from "../../core/app-settings.ts";
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { jsonBytes } from "../json-output.ts";
import { unknownChain } from "./wallet-inputs.ts";
import { plainLine } from "./rpc-failures.ts";

const maximumBytes = 16 * 1_024;
const maximumDepth = 12;
const maximumTypes = 64;
const maximumFields = 64;

/** The fields of a domain in the order of EIP-712, "Definition of domainSeparator". */
const domainFields = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
  { name: "salt", type: "bytes32" },
] as const;

const field = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z_]\w*$/)
    .max(64),
  type: z.string().max(96),
});
const shape = z.strictObject({
  types: z.record(z.string().max(64), z.array(field).max(maximumFields)),
  primaryType: z.string(),
  domain: z.record(z.string(), z.json()),
  message: z.record(z.string(), z.json()),
});

/**
 * Returns the typed data for wallets: with the domain's type, and `chainId` as a number.
 *
 * @throws RangeError naming the problem and its path.
 */
export function readTypedData(value: JsonObject, chains: readonly ChainSettings[]): JsonObject {
  if (isDeeperThan(maximumDepth, value)) {
    throw new RangeError(`The typed data is nested deeper than ${maximumDepth} levels.`);
  }
  if (jsonBytes(value) > maximumBytes) {
    throw new RangeError(`The typed data has more than ${maximumBytes / 1_024} KiB.`);
  }
  const result = shape.safeParse(value);
  if (!result.success) throw new RangeError(`The typed data is invalid: ${z.prettifyError(result.error)}`);
  const { primaryType, message } = result.data;
  const domain = { ...result.data.domain, chainId: readChainId(result.data.domain["chainId"], chains) };
  const { EIP712Domain: givenDomainType, ...ownTypes } = result.data.types;
  const domainType = givenDomainType ?? domainFields.filter(({ name }) => Object.hasOwn(domain, name));
  const types: StructTypes = { EIP712Domain: domainType, ...ownTypes };
  checkTypes(types);
  if (!Object.hasOwn(ownTypes, primaryType)) {
    throw new RangeError(`primaryType is "${plainLine(primaryType, 64)}", which is not in types.`);
  }
  checkStruct(types, "EIP712Domain", domain, "domain");
  checkStruct(types, primaryType, message, "message");
  const checked = { types, primaryType, domain, message };
  checkThatItEncodes(checked);
  return checked as unknown as JsonObject;
}

/** Returns the chain id, which is required: a signature without one is valid on every chain. */
function readChainId(value: JsonValue | undefined, chains: readonly ChainSettings[]): number {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || !/^(\d{1,15}|0x[0-9a-fA-F]{1,12})$/.test(text)) {
    throw new RangeError("domain.chainId is missing or not a number: it binds the signature to a chain.");
  }
  const chainId = Number(text);
  if (!chains.some(({ id }) => id === chainId))
    throw new RangeError(`domain.chainId: ${unknownChain(chainId, chains)}`);
  return chainId;
}

function checkTypes(types: StructTypes): void {
  const names = Object.keys(types);
  if (names.length > maximumTypes) throw new RangeError(`types has more than ${maximumTypes} types.`);
  for (const name of names) {
    if (!isStructName(name))
      throw new RangeError(`types: "${plainLine(name, 64)}" cannot be the name of a type.`);
    const fields = types[name] ?? [];
    if (new Set(fields.map((field) => field.name)).size < fields.length) {
      throw new RangeError(`types.${name} names a field twice.`);
    }
  }
  for (const { name, type } of types["EIP712Domain"] ?? []) {
    if (!domainFields.some((known) => known.name === name && known.type === type)) {
      throw new RangeError(`types.EIP712Domain has a field that EIP-712 does not define: ${type} ${name}.`);
    }
  }
}

/** Final check with a real encoder, as wallets use one. */
function checkThatItEncodes(typedData: object): void {
  try {
    hashTypedData(typedData as TypedDataDefinition);
  } catch (error) {
    const reason =
      error instanceof Error && "shortMessage" in error ? String(error.shortMessage) : "it cannot be encoded";
    throw new RangeError(`The typed data is invalid: ${plainLine(reason)}`);
  }
}

type StructTypes = Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;

function isElementary(type: string): boolean {
  const [, bits] = /^u?int(\d{1,3})$/.exec(type) ?? [];
  if (bits !== undefined) return !bits.startsWith("0") && Number(bits) % 8 === 0 && Number(bits) <= 256;
  return /^(?:address|bool|string|bytes(?:[1-9]|[12]\d|3[0-2])?)$/.test(type);
}

/** Returns true if a struct type may have this name. */
function isStructName(name: string): boolean {
  return /^[A-Za-z]\w*$/.test(name) && !/^(?:address|bool|string|function|u?int\d*|bytes\d*)$/.test(name);
}

/** @throws RangeError with the path if a value has missing, extra or invalid fields. */
function checkStruct(types: StructTypes, name: string, value: JsonValue | undefined, path: string): void {
  if (!isJsonObject(value)) throw new RangeError(`${path} is not an object with the fields of ${name}.`);
  const fields = types[name] ?? [];
  for (const { name: field, type } of fields) {
    checkValue(types, type, Object.hasOwn(value, field) ? value[field] : undefined, `${path}.${field}`);
  }
  const extra = Object.keys(value).find((key) => !fields.some(({ name: field }) => field === key));
  if (extra !== undefined) {
    throw new RangeError(
      `${path} has a field that is not in types.${name}, so it would not be signed: ${plainLine(extra, 64)}.`,
    );
  }
}

function checkValue(types: StructTypes, type: string, value: JsonValue | undefined, path: string): void {
  if (value === undefined) throw new RangeError(`${path} is missing.`);
  const [, item, length] = /^(.*)\[(\d*)\]$/.exec(type) ?? [];
  if (item !== undefined) {
    if (!Array.isArray(value)) throw new RangeError(`${path} is not a list.`);
    if (length !== "" && Number(length) !== value.length)
      throw new RangeError(`${path} does not have ${length} items.`);
    for (const [index, inner] of value.entries()) checkValue(types, item, inner, `${path}[${index}]`);
  } else if (Object.hasOwn(types, type)) checkStruct(types, type, value, path);
  else if (!isElementary(type))
    throw new RangeError(`${path} has the type "${plainLine(type, 64)}", which does not exist.`);
  else if (!fits(type, value)) throw new RangeError(`${path} does not fit its type ${type}.`);
}

function fits(type: string, value: JsonValue): boolean {
  const [, kind = "", digits = ""] = /^([a-z]+)(\d*)$/.exec(type) ?? [];
  switch (kind) {
    case "bool":
      return typeof value === "boolean";
    case "string":
      return typeof value === "string";
    case "address":
      return typeof value === "string" && isAddress(value);
    case "bytes": {
      if (typeof value !== "string" || !/^0x([0-9a-fA-F]{2})*$/.test(value)) return false;
      return digits === "" || value.length === 2 + 2 * Number(digits);
    }
    default:
      return fitsInteger(value, Number(digits), kind === "int");
  }
}

/** Returns true for a safe integer, or for decimal or hexadecimal text. */
function fitsInteger(value: JsonValue, bits: number, isSigned: boolean): boolean {
  const isNumber = typeof value === "number" && Number.isSafeInteger(value);
  const isText = typeof value === "string" && /^(-?\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value);
  if (!isNumber && !isText) return false;
  const integer = BigInt(value);
  const limit = 2n ** BigInt(isSigned ? bits - 1 : bits);
  return integer < limit && integer >= (isSigned ? -limit : 0n);
}
