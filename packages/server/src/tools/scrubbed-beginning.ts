// Scrubbing takes time in proportion to what is scrubbed, and holds up every other turn meanwhile: of a value of megabytes, only the part
// that will be shown is scrubbed, and a little more, because a secret may lie across the place where it is cut.

import type { JsonValue } from "../core/json.ts";
import { SECRET_MAX } from "../core/secret-values.ts";
import { cleanText } from "../core/text.ts";
import { cutText, fitJson, jsonBytes } from "./json-output.ts";

type Scrub = (value: JsonValue) => JsonValue;

/** Characters of the longest value of a secret, each written as an escape in an escape. */
const MARGIN = 16 * SECRET_MAX;

/** The first text of an output of which no more was read. Its end may be half a secret. */
export class Beginning {
  /** Characters that are enough for whoever reads the beginning of a long output to keep. */
  static readonly ENOUGH = 4 * MARGIN;
  readonly text: string;
  readonly bytes: number;

  /** @param bytes how many were read; the whole output had more. */
  constructor(text: string, bytes: number) {
    this.text = text;
    this.bytes = bytes;
  }
}

/** A text of at most `limit` bytes as JSON, with a note that it was cut. No half of a secret is left where it is, nor where reading ended. */
export function scrubbedBeginning({ text, bytes }: Beginning, limit: number, scrub: Scrub): string {
  const scrubbed = scrub(cleanText(text.slice(0, limit + 2 * MARGIN).toWellFormed()));
  const known = typeof scrubbed === "string" ? scrubbed.slice(0, -MARGIN) : "";
  return cutText(known.toWellFormed(), limit, `more than ${bytes} bytes`);
}

/** `fitJson` of the scrubbed value. No half of a secret is left where it is cut. */
export function scrubbedToFit(value: JsonValue, limit: number, scrub: Scrub): JsonValue {
  const size = jsonBytes(value);
  if (size <= limit + MARGIN) return fitJson(scrub(value), limit);
  return fitJson(scrub(new Shortener(limit, scrub).shorten(value)), limit, size);
}

/** Keeps the first parts of a value, until so many characters are used. */
class Shortener {
  #left: number;
  readonly #scrub: Scrub;

  constructor(characters: number, scrub: Scrub) {
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
    // Not by assignment: a key `__proto__` is a key like any other.
    return Object.fromEntries(entries);
  }

  #shortenText(text: string): string {
    const left = Math.max(this.#left, 0);
    this.#left -= text.length + 1;
    if (text.length <= left + MARGIN) return text;
    // What the scrubber could not see whole lies in the last of these characters, and stays as it was.
    const scrubbed = this.#scrub(text.slice(0, left + MARGIN).toWellFormed());
    return typeof scrubbed === "string" ? scrubbed.slice(0, -MARGIN).toWellFormed() : "";
  }
}
