// Decoded texts that map each character back to the part of the original that it came from.

/** One way to escape characters. */
interface Encoding {
  /** Matches one escaped character; global. */
  readonly escape: RegExp;
  decode(escaped: string): string;
}

/**
 * Percent-encoding of a UTF-8 sequence or a single byte, and the output of JavaScript's legacy `escape()`.
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
  const itself = new DecodedText(original, null);
  yield itself;
  for (const { escape: outer, decode } of ENCODINGS) {
    const once = itself.replaced(outer, decode);
    if (once === itself) continue;
    yield once;
    for (const { escape: inner, decode } of ENCODINGS) {
      const twice = once.replaced(inner, decode);
      if (twice !== once) yield twice;
    }
  }
}

/** Returns the text without white space, which may break base64 into lines. */
export function withoutWhiteSpace(source: DecodedText): DecodedText {
  return source.replaced(/\s+/g, removed);
}

/** Pairs of hexadecimal digits with separators: `73 6b`, `73:6b`, `0x73, 0x6b`. */
const SPACED_HEX = /[0-9a-f]{2}[\s:,;._-]+(?:0x)?[0-9a-f]{2}/i;

/** Returns the text without separators of hexadecimal digits, or `null` if no digits are separated. */
export function withoutHexSeparators(source: DecodedText): DecodedText | null {
  return SPACED_HEX.test(source.text) ? source.replaced(/[\s:,;._-]+|0x/gi, removed) : null;
}

function removed(): string {
  return "";
}

/** A text decoded from an original, by replacing parts with shorter ones. */
export class DecodedText {
  readonly text: string;
  readonly #replaced: Replacement | null;
  #spans: Spans | null = null;

  /** @param replaced how the text was derived from the original; `null` for the original itself. */
  constructor(text: string, replaced: Replacement | null) {
    this.text = text;
    this.#replaced = replaced;
  }

  /** Returns the text with each match of a global pattern replaced, or itself if that changes nothing. */
  replaced(pattern: RegExp, replace: (matched: string) => string): DecodedText {
    // A constant replacement is much faster than a function.
    const text =
      replace === removed ? this.text.replaceAll(pattern, "") : this.text.replaceAll(pattern, replace);
    if (text === this.text) return this;
    return new DecodedText(text, { source: this, pattern, replace });
  }

  /** Returns the span of the original from which a span of this text was derived. */
  originOf(start: number, end: number): readonly [start: number, end: number] {
    if (this.#replaced === null) return [start, end];
    // Only texts that contain a secret need the mapping.
    this.#spans ??= spansOf(this.text.length, this.#replaced);
    const { starts, ends } = this.#spans;
    return this.#replaced.source.originOf(starts[start] ?? start, ends[end - 1] ?? end);
  }
}

interface Replacement {
  readonly source: DecodedText;
  readonly pattern: RegExp;
  readonly replace: (matched: string) => string;
}

/** For each UTF-16 unit of a text, the start and end of the part of its source that it was made from. */
interface Spans {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

function spansOf(length: number, { source: { text }, pattern, replace }: Replacement): Spans {
  const spans = { starts: new Uint32Array(length), ends: new Uint32Array(length) };
  let index = 0;
  let done = 0;
  const copyUntil = (end: number): void => {
    for (; done < end; done += 1, index += 1) {
      spans.starts[index] = done;
      spans.ends[index] = done + 1;
    }
  };
  for (const { 0: matched, index: start } of text.matchAll(pattern)) {
    copyUntil(start);
    done = start + matched.length;
    const next = index + replace(matched).length;
    spans.starts.fill(start, index, next);
    spans.ends.fill(done, index, next);
    index = next;
  }
  copyUntil(text.length);
  return spans;
}

function characterOf(codePoint: number): string {
  return codePoint <= 0x10_ffff ? String.fromCodePoint(codePoint) : "";
}
