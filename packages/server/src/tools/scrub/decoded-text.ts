// A decoded text with a mapping back: which part of the original each character came from.

export interface DecodedText {
  readonly text: string;
  /**
   * For each UTF-16 unit of `text`, the start and end of its source in the original; `null` for the original
   * itself.
   */
  readonly origin: { readonly starts: Uint32Array; readonly ends: Uint32Array } | null;
}

/** One way to escape characters. */
interface Encoding {
  /** Matches one escaped character; global. */
  readonly escape: RegExp;
  decode(escaped: string): string;
}

/**
 * Percent-encoding of a UTF-8 sequence or of a single byte, and the output of JavaScript's legacy `escape()`.
 */
const PERCENT: Encoding = {
  escape:
    /%(?:u[0-9a-f]{4}|[cd][0-9a-f]%[89ab][0-9a-f]|e[0-9a-f](?:%[89ab][0-9a-f]){2}|f[0-7](?:%[89ab][0-9a-f]){3}|[0-9a-f]{2})/gi,
  decode(escaped) {
    if (/^%u/i.test(escaped)) return String.fromCharCode(Number.parseInt(escaped.slice(2), 16));
    try {
      return decodeURIComponent(escaped);
    } catch {
      // Not UTF-8: decode each byte as Latin-1.
      return escaped.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
    }
  },
};

const CONTROLS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Escapes of JSON strings (RFC 8259 section 7) and of programming languages. */
const BACKSLASH: Encoding = {
  escape: /\\(?:u[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}|x[0-9a-f]{2}|[^])/gi,
  decode(escaped) {
    const hex = /^\\[ux]\{?([0-9a-f]+)/i.exec(escaped)?.[1];
    if (hex !== undefined) return characterOf(Number.parseInt(hex, 16));
    const character = escaped.slice(1);
    return CONTROLS[character] ?? character;
  },
};

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Character references of HTML and XML: numeric ones, and the five named ones of XML. */
const REFERENCE: Encoding = {
  escape: /&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});/gi,
  decode(escaped) {
    const name = escaped.slice(1, -1).toLowerCase();
    if (!name.startsWith("#")) return ENTITIES[name] ?? "";
    return characterOf(name[1] === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1)));
  },
};

const ENCODINGS = [PERCENT, BACKSLASH, REFERENCE];

/**
 * Yields the text itself, then its readings with one or two encodings undone, one within the other (JSON in
 * JSON, a URL in a URL). Any part of the characters may be escaped. Omits readings equal to the text.
 */
export function* readings(original: string): Generator<DecodedText> {
  const itself: DecodedText = { text: original, origin: null };
  yield itself;
  for (const outer of ENCODINGS) {
    const once = decode(itself, outer);
    if (once === null) continue;
    yield once;
    for (const inner of ENCODINGS) {
      const twice = decode(once, inner);
      if (twice !== null) yield twice;
    }
  }
}

/** Returns the text as base64 in the standard alphabet (RFC 4648 section 4), without white space. */
export function asBase64(source: DecodedText): DecodedText {
  const text = source.text.replaceAll("-", "+").replaceAll("_", "/");
  if (!/\s/.test(text)) return { text, origin: source.origin };
  const builder = new Builder(source);
  for (const { 0: word, index } of text.matchAll(/\S+/g)) builder.copy(word, index);
  return builder.build();
}

/** Pairs of hexadecimal digits with separators: `73 6b`, `73:6b`, `0x73, 0x6b`. */
const SPACED_HEX = /[0-9a-f]{2}[\s:,;._-]+(?:0x)?[0-9a-f]{2}/i;

/** Returns the text without separators of hexadecimal digits, or `null` if no digits are separated. */
export function asHex(source: DecodedText): DecodedText | null {
  const { text } = source;
  if (!SPACED_HEX.test(text)) return null;
  const builder = new Builder(source);
  for (const { 0: part, index } of text.matchAll(/(?:(?!0x)[^\s:,;._-])+/gi)) {
    // The match excludes `0x` at its start, which leaves the `x` behind.
    const isMarked = part.length > 1 && /^x/i.test(part) && text[index - 1] === "0";
    builder.copy(isMarked ? part.slice(1) : part, isMarked ? index + 1 : index);
  }
  return builder.build();
}

function decode(source: DecodedText, { escape, decode }: Encoding): DecodedText | null {
  const { text } = source;
  // Fast path: most texts have nothing to decode.
  if (text.search(escape) === -1) return null;
  const builder = new Builder(source);
  let done = 0;
  for (const { 0: escaped, index } of text.matchAll(escape)) {
    builder.copy(text.slice(done, index), done);
    done = index + escaped.length;
    builder.put(decode(escaped), index, done);
  }
  builder.copy(text.slice(done), done);
  return builder.build();
}

/** Builds a text that is not longer than its source. */
class Builder {
  readonly #source: DecodedText;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  #text = "";

  constructor(source: DecodedText) {
    this.#source = source;
    this.#starts = new Uint32Array(source.text.length);
    this.#ends = new Uint32Array(source.text.length);
  }

  /** Appends a part that occurs unchanged at `from` in the source. */
  copy(part: string, from: number): void {
    for (let index = 0; index < part.length; index += 1) {
      this.#note(this.#text.length + index, from + index, from + index + 1);
    }
    this.#text += part;
  }

  /** Appends characters that were decoded from the source between `from` and `to`. */
  put(characters: string, from: number, to: number): void {
    for (let index = 0; index < characters.length; index += 1)
      this.#note(this.#text.length + index, from, to);
    this.#text += characters;
  }

  build(): DecodedText {
    return { text: this.#text, origin: { starts: this.#starts, ends: this.#ends } };
  }

  #note(index: number, from: number, to: number): void {
    const { origin } = this.#source;
    this.#starts[index] = origin?.starts[from] ?? from;
    this.#ends[index] = origin?.ends[to - 1] ?? to;
  }
}

function characterOf(codePoint: number): string {
  return codePoint <= 0x10_ffff ? String.fromCodePoint(codePoint) : "";
}
