import { Pattern } from "./occurrences.ts";

/** Shorter values are not looked for within a text: they stand in half of all words, and gaps would tell what they are. */
export const MINIMUM_LENGTH = 4;

/** How a value may stand in a text, once escapes are undone (`decoded-text.ts`). */
export interface SecretForms {
  /** To be looked for with each `+` read as a space: in a form (WHATWG URL section 5.2) they cannot be told apart. */
  readonly plain: readonly Pattern[];
  readonly base64: readonly Base64Form[];
}

export interface Base64Form {
  /** The characters that hold bits of the value alone, in the standard alphabet. */
  readonly pattern: Pattern;
  /** Characters beside it that hold some of the value's bits too: 0 or 1. */
  readonly before: number;
  readonly after: number;
}

/** The forms of a value that has at least `MINIMUM_LENGTH` characters without the white space around it. */
export function formsOf(value: string): SecretForms {
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  return {
    plain: [plusAsSpace(value), hex, hex.toUpperCase()].map((text) => new Pattern(text)),
    base64: [0, 1, 2].map((offset) => base64Form(bytes, offset)),
  };
}

export function plusAsSpace(text: string): string {
  return text.replaceAll("+", " ");
}

/** What a value looks like in the base64 of something that holds it behind `offset` bytes, counted modulo 3. */
function base64Form(value: Buffer, offset: number): Base64Form {
  const bytes = Buffer.concat([Buffer.alloc(offset), value]);
  const bits = 8 * bytes.length;
  const first = Math.ceil((8 * offset) / 6);
  const end = Math.floor(bits / 6);
  return {
    pattern: new Pattern(bytes.toString("base64").slice(first, end)),
    before: offset === 0 ? 0 : 1,
    after: bits % 6 === 0 ? 0 : 1,
  };
}
