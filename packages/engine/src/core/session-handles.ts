// Handles stand for session ids where somebody may see a session but not use it: in the log, and for operators who may only
// read. A session's id opens the session; its handle opens nothing, and only reads of the admin API accept it (contract
// section 6).
//
// A handle is the id, encrypted with a key of the installation: the store keeps the key, so that all nodes and restarts give
// the same handle, no rotation of the master key changes it, and whoever can read the key can read the ids anyway.

import { parseSessionId } from "@colloquy/protocol";

/** Encrypts ids with the key of the installation. */
export interface HandleCipher {
  /** Takes 32 hexadecimal digits, returns base64url without padding. */
  encrypt(hex: string): string;
  decrypt(text: string): string;
}

const PREFIX = "h_";
/** Stands for an id that was cut off. */
const CUT = `${PREFIX}…`;

/** A hexadecimal digit, also percent-encoded, up to nine times. All repetitions are bounded, so that matching is linear. */
const HEX = "(?:[0-9a-f]|%(?:25){0,8}(?:3[0-9]|[46][1-6]))";
const DASH = String.raw`(?:-|%(?:25){0,8}2d|\\{1,16}u002d)`;
/**
 * A UUID with what belongs to it, even if its beginning or end is missing, or 32 digits that stand alone. Has no word
 * boundaries: an id may follow any character.
 */
const ID =
  `${HEX}{0,8}${DASH}${HEX}{4}${DASH}${HEX}{4}${DASH}${HEX}{4}${DASH}${HEX}{0,12}` +
  `|${HEX}{8}${DASH}${HEX}{4}${DASH}${HEX}{4}(?:${DASH}${HEX}{0,4})?` +
  `|${HEX}{0,4}${DASH}${HEX}{4}${DASH}${HEX}{4}${DASH}${HEX}{12}` +
  "|(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])";
const IDS = new RegExp(ID, "gi");

export class SessionHandles {
  readonly #cipher: HandleCipher;

  constructor(cipher: HandleCipher) {
    this.#cipher = cipher;
  }

  /** Returns the handle of a session id in any case. */
  of(id: string): string {
    return PREFIX + this.#cipher.encrypt(id.replaceAll("-", "").toLowerCase());
  }

  /** Returns the session id of a handle in lower case; an id as it is. */
  idOf(idOrHandle: string): string {
    if (!idOrHandle.startsWith(PREFIX)) return idOrHandle;
    return withDashes(this.#cipher.decrypt(idOrHandle.slice(PREFIX.length)));
  }

  /**
   * Replaces all UUIDs in a text by handles. `pattern` is `IDS`, or one of `idsExcept`.
   */
  mask(text: string, pattern = IDS): string {
    return text.replaceAll(pattern, (id, kept: unknown) => {
      return typeof kept === "string" ? kept : this.#shown(id);
    });
  }

  /** Replaces all UUIDs in the texts of a JSON value by handles, except those in `kept`, which name no session. */
  hide<Value>(value: Value, kept: ReadonlySet<string>): Value {
    const text = JSON.stringify(value);
    return JSON.parse(text.replaceAll(IDS, (id) => (kept.has(id) ? id : this.#shown(id)))) as Value;
  }

  #shown(id: string): string {
    const hex = digitsOf(id);
    return hex.length === 32 ? this.of(hex) : CUT;
  }
}

/** Returns a pattern for `mask` that keeps what `kept` matches. */
export function idsExcept(kept: RegExp): RegExp {
  return new RegExp(`(${kept.source})|${ID}`, "gi");
}

/** Returns the session ids in a text, in lower case. */
export function sessionIdsIn(text: string): readonly string[] {
  return [...text.matchAll(IDS)].flatMap(([id]) => {
    return parseSessionId(withDashes(digitsOf(id))) ?? [];
  });
}

function digitsOf(id: string): string {
  return id
    .toLowerCase()
    .replaceAll(/%(?:25)*([0-9a-f]{2})/g, (_all, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replaceAll(/\\+u002d|-/g, "");
}

function withDashes(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
