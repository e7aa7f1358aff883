// Checks the values of typed data against their types (EIP-712, "Definition of typed structured data").

import { isAddress } from "viem";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { plainLine } from "./rpc-failures.ts";

export type StructTypes = Readonly<
  Record<string, readonly { readonly name: string; readonly type: string }[]>
>;

function isElementary(type: string): boolean {
  const [, bits] = /^u?int(\d{1,3})$/.exec(type) ?? [];
  if (bits !== undefined) return !bits.startsWith("0") && Number(bits) % 8 === 0 && Number(bits) <= 256;
  return /^(?:address|bool|string|bytes(?:[1-9]|[12]\d|3[0-2])?)$/.test(type);
}

/** Returns true if a struct type may have this name. */
export function isStructName(name: string): boolean {
  return /^[A-Za-z]\w*$/.test(name) && !/^(?:address|bool|string|function|u?int\d*|bytes\d*)$/.test(name);
}

/** @throws RangeError with the path if a value has missing, extra or invalid fields. */
export function checkStruct(
  types: StructTypes,
  name: string,
  value: JsonValue | undefined,
  path: string,
): void {
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
      throw new RangeError(`${path} has not ${length} items.`);
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

/** Accepts a safe integer, or decimal or hexadecimal text. */
function fitsInteger(value: JsonValue, bits: number, isSigned: boolean): boolean {
  const isNumber = typeof value === "number" && Number.isSafeInteger(value);
  const isText = typeof value === "string" && /^(-?\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value);
  if (!isNumber && !isText) return false;
  const integer = BigInt(value);
  const limit = 2n ** BigInt(isSigned ? bits - 1 : bits);
  return integer < limit && integer >= (isSigned ? -limit : 0n);
}
