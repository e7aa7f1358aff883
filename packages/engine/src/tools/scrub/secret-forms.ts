import { PatternSet } from "./occurrences.ts";

/**
 * Minimum length of a value that is searched for inside text. Shorter values are replaced only as whole
 * strings: they occur in many words, and the gaps would reveal them.
 */
export const MINIMUM_LENGTH = 4;

/** Number of bytes encoded before a value, modulo 3. */
const OFFSETS = [0, 1, 2];

/** The encodings of values to search for, after escapes are undone (`decoded-text.ts`). */
export interface SecretForms {
  /** The values and their hexadecimal digits, for folded text. */
  readonly plain: PatternSet<null>;
  /** The hexadecimal digits of the values only. */
  readonly hex: PatternSet<null>;
  readonly base64: PatternSet<Base64Edges>;
}

/** Number of neighbouring characters that hold some bits of a value. */
export interface Base64Edges {
  readonly before: number;
  readonly after: number;
}

interface Base64Form extends Base64Edges {
  /** The characters that hold only bits of the value, in the standard alphabet. */
  readonly text: string;
}

/** Returns the forms of trimmed values of at least `MINIMUM_LENGTH` characters. */
export function formsOf(values: readonly string[]): SecretForms {
  const forms = {
    plain: new PatternSet<null>(),
    hex: new PatternSet<null>(),
    base64: new PatternSet<Base64Edges>(),
  };
  for (const value of values) {
    const bytes = Buffer.from(value);
    const hex = bytes.toString("hex");
    forms.plain.add(folded(value), null);
    forms.plain.add(hex, null);
    forms.hex.add(hex, null);
    const base64 = OFFSETS.map((offset) => base64Form(bytes, offset));
    for (const form of [...base64, ...base64.flatMap(twiceInBase64)]) forms.base64.add(form.text, form);
  }
  return forms;
}

/**
 * Folds case, and maps `+` to a space, because form encoding does not distinguish them (WHATWG URL section
 * 5.2). Keeps the length.
 */
export function folded(text: string): string {
  // U+0130 is longer in lower case, and the lower case of sigma depends on its neighbours.
  return text.replaceAll("+", " ").replaceAll("\u0130", "i").toLowerCase().replaceAll("\u03c2", "\u03c3");
}

/**
 * Returns the forms of a secret that is encoded in base64 twice. The inner encoding may use either alphabet.
 */
function twiceInBase64({ text, before, after }: Base64Form): readonly Base64Form[] {
  const alphabets = new Set([text, text.replaceAll("+", "-").replaceAll("/", "_")]);
  return [...alphabets].flatMap((inner) =>
    OFFSETS.map((offset) => {
      const outer = base64Form(Buffer.from(inner), offset);
      // A character beside the inner form is a byte here, and spans two characters.
      return { ...outer, before: outer.before + 2 * before, after: outer.after + 2 * after };
    }),
  );
}

/** Returns the base64 form of the value after `offset` bytes, modulo 3. */
function base64Form(value: Buffer, offset: number): Base64Form {
  const bytes = Buffer.concat([Buffer.alloc(offset), value]);
  const bits = 8 * bytes.length;
  const first = Math.ceil((8 * offset) / 6);
  const end = Math.floor(bits / 6);
  return {
    text: bytes.toString("base64").slice(first, end),
    before: offset === 0 ? 0 : 1,
    after: bits % 6 === 0 ? 0 : 1,
  };
}
