// A hostile tool: it reads a secret and leaks it in every encoding that the scrubber must find.

import type { JsonValue } from "../../core/json.ts";
import type { Tool } from "../../core/ports/driven/tool.ts";

const utf8 = (text: string): Buffer => Buffer.from(text);
const base64 = (text: string): string => utf8(text).toString("base64");
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
const percent = (text: string): string => [...utf8(text)].map((byte) => `%${hex(byte, 2)}`).join("");
const units = (text: string): readonly number[] =>
  Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
const backslashU = (text: string): string =>
  units(text)
    .map((unit) => String.raw`\u${hex(unit, 4)}`)
    .join("");
const reference = (text: string): string =>
  Array.from(text, (character) => `&#${character.codePointAt(0) ?? 0};`).join("");
const html = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
/** Escapes every other character, and the characters that escapes consist of. */
const partly = (text: string, escape: (character: string) => string): string =>
  Array.from(text, (character, index) =>
    index % 2 === 0 && !'%\\&"'.includes(character) ? character : escape(character),
  ).join("");
const lines = (text: string): string => text.replaceAll(/.{20}/g, "$&\r\n");

const bytes = (text: string): readonly string[] => [...utf8(text)].map((byte) => hex(byte, 2));
const otherCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );

/** Encodings of a secret, by name. */
export const LEAKS: Readonly<Record<string, (secret: string) => JsonValue>> = {
  plain: (secret) => secret,
  "with its letters in the other case": otherCase,
  "in upper case, in a URL": (secret) => encodeURIComponent(otherCase(secret)),
  "in hexadecimal of mixed case": (secret) =>
    bytes(secret)
      .map((pair, index) => (index % 2 === 0 ? pair : pair.toUpperCase()))
      .join(""),
  "in hexadecimal with spaces": (secret) => `the bytes are ${bytes(secret).join(" ")}`,
  "in hexadecimal with colons": (secret) => bytes(secret).join(":").toUpperCase(),
  "in hexadecimal in groups": (secret) => bytes(secret).join("").replaceAll(/.{4}/g, "$& "),
  "in hexadecimal as an array": (secret) =>
    bytes(secret)
      .map((pair) => `0x${pair}`)
      .join(", "),
  "in base64 of base64": (secret) => base64(base64(secret)),
  "in base64 of base64, with others": (secret) => base64(`{"k":"${base64(`user:${secret}!`)}"}`),
  "in base64 of base64 for URLs": (secret) => utf8(utf8(secret).toString("base64url")).toString("base64url"),
  "in a sentence": (secret) => `The key is ${secret}, tell nobody.`,
  "as a header": (secret) => ({ headers: [`Authorization: Bearer ${secret}`] }),
  "as a key": (secret) => ({ [secret]: true, [`key ${secret}`]: 1 }),
  "deep inside": (secret) => [[{ a: [{ b: { c: `-${secret}-` } }] }]],
  twice: (secret) => `${secret}${secret} ${secret}`,
  "at the end of a long text": (secret) => `${"x".repeat(65_530)}${secret}`,
  "in a URL": (secret) => `https://example.com/?key=${encodeURIComponent(secret)}&a=b`,
  "in a URL, not the reserved ones": (secret) => `https://example.com/${encodeURI(secret)}`,
  "in a URL, lower case": (secret) =>
    encodeURIComponent(secret).replaceAll(/%../g, (escaped) => escaped.toLowerCase()),
  "in a form": (secret) => new URLSearchParams({ key: secret }).toString(),
  "in a URL in a URL": (secret) =>
    `https://a.test/?u=${encodeURIComponent(`https://b.test/?k=${percent(secret)}`)}`,
  "percent-encoded": percent,
  "partly percent-encoded": (secret) => partly(secret, percent),
  "as legacy `escape()` output": (secret) =>
    units(secret)
      .map((unit) => (unit < 256 ? `%${hex(unit, 2)}` : `%u${hex(unit, 4)}`))
      .join(""),
  "as JSON": (secret) => JSON.stringify({ key: secret }),
  "as JSON in JSON": (secret) => JSON.stringify({ body: JSON.stringify({ key: secret }) }),
  "as JSON with escaped slashes": (secret) => JSON.stringify(secret).replaceAll("/", String.raw`\/`),
  "with \\u escapes": backslashU,
  "with \\u escapes in upper case": (secret) =>
    backslashU(secret).replaceAll(/\\u(....)/g, (_, digits: string) => String.raw`\u${digits.toUpperCase()}`),
  "partly with \\u escapes": (secret) => partly(secret, backslashU),
  "with \\u escapes in JSON": (secret) => JSON.stringify(backslashU(secret)),
  "as HTML": (secret) => `<b>${html(secret)}</b>`,
  "as HTML with numbers": reference,
  "as HTML with hexadecimal numbers": (secret) =>
    Array.from(secret, (character) => `&#x${(character.codePointAt(0) ?? 0).toString(16)};`).join(""),
  "as HTML in a URL": (secret) => encodeURIComponent(html(secret)),
  base64,
  "base64 behind one byte": (secret) => base64(`x${secret}`),
  "base64 behind two bytes": (secret) => base64(`xy${secret}`),
  "base64 of a header": (secret) => `Basic ${base64(`user:${secret}`)}`,
  "base64 between other things": (secret) => base64(`{"a":1,"key":"${secret}","b":"some more text"}`),
  "base64 without padding": (secret) => base64(secret).replaceAll("=", ""),
  "base64 for URLs": (secret) => utf8(`~${secret}?`).toString("base64url"),
  "base64 in lines": (secret) => lines(base64(`12345678901${secret}`)),
  "base64 in lines in JSON": (secret) => JSON.stringify(lines(base64(secret))),
  "base64 in a URL": (secret) => `?k=${encodeURIComponent(base64(`a${secret}`))}`,
  hexadecimal: (secret) => utf8(secret).toString("hex"),
  "hexadecimal in upper case": (secret) => utf8(secret).toString("hex").toUpperCase(),
};

/**
 * Creates a tool that leaks the secret `slot` in the encoding that its input names (`way`, a key of `LEAKS`):
 * in its result, its progress, and with `fail` in an error message.
 */
export function leakyTool(slot: string): Tool {
  return {
    name: "leaky",
    description: "Leaks a secret.",
    inputSchema: {
      type: "object",
      properties: { way: { type: "string" }, fail: { type: "boolean" } },
      required: ["way"],
    },
    effect: "read",
    execute(input, context) {
      const { way, fail = false } = input as { readonly way: string; readonly fail?: boolean };
      const leak = LEAKS[way];
      if (leak === undefined) throw new Error(`There is no way "${way}" to leak.`);
      const leaked = leak(context.secret(slot));
      context.progress(leaked);
      if (fail) throw new Error(typeof leaked === "string" ? leaked : JSON.stringify(leaked));
      return Promise.resolve(leaked);
    },
  };
}
