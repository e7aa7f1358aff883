// Bodies at the maximum of a limit: many values, many names, deep nesting, long texts. Each is the dearest of
// its kind to read, check, parse or store.

import type { Random } from "../torture/harness/random.ts";
import type { Operation } from "./openapi.ts";

const KIB = 1024;
const USE_CHAT = "/api/ai-sdk/chat";
const DEFAULT_LIMIT = 64 * KIB;
/** Limits of bodies by operation (contract section 6), and that of useChat with the default `limits.sessionBytes`. */
const LIMITS: Readonly<Record<string, number>> = {
  "POST /api/chat": 256 * KIB,
  "POST /api/actions/{id}": 80 * KIB,
  "POST /mcp": 256 * KIB,
  [`POST ${USE_CHAT}`]: 17 * KIB * KIB,
};

/** JSON texts of about this many bytes, by what they have the most of. */
export const HEAVY_VALUES: Readonly<Record<string, (bytes: number) => string>> = {
  arrays: list("[],"),
  objects: list("{},"),
  numbers: list("1,"),
  "long numbers": list(`${"1".repeat(300)},`),
  "a long number": (bytes) => "1".repeat(bytes),
  "short texts": list('"",'),
  "escaped names": list(String.raw`{"\u0061":{}},`),
  "nested values": list(`${'{"a":['.repeat(13)}${"]}".repeat(13)},`),
  names: (bytes) => object(bytes, (index) => `"${index.toString(36)}":0,`),
  "equal names": (bytes) => object(bytes, () => '"a":0,'),
  "long equal names": (bytes) => {
    const name = "n".repeat(bytes / 2 - 8);
    return `{"${name}":0,"${name}":0}`;
  },
  depth: (bytes) => "[".repeat(bytes),
  "a long text": (bytes) => `"${"x".repeat(Math.max(0, bytes - 2))}"`,
  "escaped quotes": (bytes) => `"${String.raw`\"`.repeat(bytes / 2 - 1)}"`,
  "escaped characters": (bytes) => `"${String.raw`\u00e9`.repeat((bytes - 2) / 6)}"`,
  blanks: (bytes) => `[${" ".repeat(Math.max(0, bytes - 2))}]`,
};

function list(element: string): (bytes: number) => string {
  return (bytes) => `[${element.repeat(Math.max(0, bytes - 3) / element.length)}0]`;
}

function object(bytes: number, field: (index: number) => string): string {
  const fields = [];
  for (let left = bytes - 8, index = 0; left > 0; index += 1) {
    const next = field(index);
    left -= next.length;
    fields.push(next);
  }
  return `{${fields.slice(0, -1).join("")}"_":0}`;
}

/** Returns the maximum bytes of the operation's body. */
export function bodyLimitOf({ method, path }: Pick<Operation, "method" | "path">): number {
  return LIMITS[`${method} ${path}`] ?? DEFAULT_LIMIT;
}

/** Returns where the operation's body can hold a heavy value: all of it, and each field; of a conversation only the telling ones. */
export function placesIn({ path, body }: Operation): readonly string[] {
  if (path === USE_CHAT) return ["the body", "user_state", "an earlier message", "the last message"];
  const fields = Object.keys(body?.properties ?? {});
  return ["the body", ...fields, ...(fields.includes("client_tools") ? ["a tool"] : [])];
}

/** Returns a body at the maximum with a heavy value in one place. `valid` has the other fields. */
export function heavyBody(
  operation: Pick<Operation, "method" | "path">,
  place: string,
  kind: keyof typeof HEAVY_VALUES,
  valid: object,
  random: Random,
  limit: number = bodyLimitOf(operation),
): Buffer {
  const value = (bytes: number) => HEAVY_VALUES[kind]?.(bytes) ?? "";
  if (place === "the body") return Buffer.from(value(limit));
  const around = (text: string) => {
    const user = `{"id":"${random.uuid()}","role":"user","parts":[{"type":"text","text":"hi"}]}`;
    const last = `{"id":"${random.uuid()}","role":"assistant","parts":${text}}`;
    if (place === "an earlier message") return ["messages", `[${text},${user}]`] as const;
    if (place === "a tool") return ["client_tools", `{"a":${text}}`] as const;
    return place === "the last message"
      ? (["messages", `[${user},${last}]`] as const)
      : ([place, text] as const);
  };
  const withValue = (text: string) => {
    const [name, held] = around(text);
    const others = Object.entries(valid).filter(([other]) => other !== name);
    const fields = others.map(([other, own]) => `${JSON.stringify(other)}:${JSON.stringify(own)},`);
    return `{${fields.join("")}${JSON.stringify(name)}:${held}}`;
  };
  return Buffer.from(withValue(value(limit - Buffer.byteLength(withValue("")))));
}
