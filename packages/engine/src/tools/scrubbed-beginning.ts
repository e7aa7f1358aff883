// Scrubbing takes time proportional to its input and blocks other turns. Of a value of megabytes, only the
// shown part is scrubbed, plus a margin for a secret that lies across the cut.

import { type JsonValue, cleanText } from "../core/json.ts";
import { SECRET_MAX } from "../core/secrets.ts";
import { cutText, fitJson, jsonBytes } from "./json-output.ts";
import { scrubText, type Scrubber } from "./scrub.ts";

/** Longest encoding of a secret, in characters: every character as an escape within an escape. */
const MARGIN = 16 * SECRET_MAX;

/** The first text of an output that was not read completely. It may end in a partial secret. */
export class Beginning {
  /** Number of characters that always suffices to show the beginning of a long output. */
  static readonly ENOUGH = 4 * MARGIN;
  readonly text: string;
  readonly bytes: number;

  /** @param bytes number of bytes read; the whole output was longer. */
  constructor(text: string, bytes: number) {
    this.text = text;
    this.bytes = bytes;
  }
}

/**
 * Returns a text of at most `limit` bytes of JSON, with a note that it was cut. Leaves no partial secret at
 * the cut, nor where reading ended.
 */
export function scrubbedBeginning({ text, bytes }: Beginning, limit: number, scrub: Scrubber): string {
  const scrubbed = scrubText(scrub, cleanText(text.slice(0, limit + 2 * MARGIN)));
  return cutText(scrubbed.slice(0, -MARGIN).toWellFormed(), limit, `more than ${bytes} bytes`);
}

/** Returns `fitJson` of the scrubbed value. Leaves no partial secret at the cut. */
export function scrubbedToFit(value: JsonValue, limit: number, scrub: Scrubber): JsonValue {
  const size = jsonBytes(value);
  if (size <= limit + MARGIN) return fitJson(scrub(value), limit);
  return fitJson(scrub(new Shortener(limit, scrub).shorten(value)), limit, size);
}

/** Keeps the first parts of a value, up to a number of characters. */
class Shortener {
  #left: number;
  readonly #scrub: Scrubber;

  constructor(characters: number, scrub: Scrubber) {
    this.#left = characters;
    this.#scrub = scrub;
  }

  shorten(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.#shortenText(value);
    this.#left -= 1;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items: JsonValue[] = [];
      for (const item of value) {
        if (this.#left <= 0) break;
        items.push(this.shorten(item));
      }
      return items;
    }
    const entries: Array<readonly [string, JsonValue]> = [];
    for (const [key, item] of Object.entries(value)) {
      if (this.#left <= 0) break;
      entries.push([this.#shortenText(key), this.shorten(item)]);
    }
    // Unlike assignment, `fromEntries` keeps `__proto__` an ordinary key.
    return Object.fromEntries(entries);
  }

  #shortenText(text: string): string {
    const left = Math.max(this.#left, 0);
    this.#left -= text.length + 1;
    if (text.length <= left + MARGIN) return text;
    // A secret at the cut lies in the last MARGIN characters and is not recognised, so drop them.
    return scrubText(this.#scrub, text.slice(0, left + MARGIN).toWellFormed())
      .slice(0, -MARGIN)
      .toWellFormed();
  }
}
