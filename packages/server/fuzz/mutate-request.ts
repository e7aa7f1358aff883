// Mutations that make a request invalid, or valid in an unusual way.

import type { Random } from "../torture/harness/random.ts";
import { METHODS, HEADERS, PATH_TRICKS, QUERY_TRICKS, VERSIONS } from "./hostile-parts.ts";
import { HOSTILE_JSON, HOSTILE_TEXT, hostileBytes } from "./hostile-values.ts";
import { asBytes, type RequestParts } from "./request-parts.ts";

type Mutation = (parts: RequestParts, random: Random) => void;

const MUTATIONS: readonly Mutation[] = [
  (parts, random) => (parts.method = random.pick(METHODS)),
  (parts, random) => (parts.version = random.pick(VERSIONS)),
  (parts, random) => (parts.path = random.pick(PATH_TRICKS)(parts.path)),
  (parts, random) => parts.query.push(random.pick(QUERY_TRICKS)),
  (parts, random) => parts.query.push(...parts.query.slice(0, random.integer(0, 2))),
  (parts, random) => parts.query.splice(random.integer(0, 3), 1),
  (parts, random) => {
    const found = parts.query[random.integer(0, Math.max(0, parts.query.length - 1))];
    if (found !== undefined) found[1] = encodeLoosely(random.pick(HOSTILE_TEXT));
  },
  (parts, random) => {
    const found = parts.query.find(([name]) => name === "user_state");
    const value = encodeLoosely(random.pick(HOSTILE_JSON).slice(0, 9000));
    if (found === undefined) parts.query.push(["user_state", value]);
    else found[1] = value;
  },
  (parts, random) => addHeader(parts, random.pick(HEADERS)),
  (parts, random) => addHeader(parts, random.pick(HEADERS)),
  (parts, random) => replaceHeader(parts, random.pick(HEADERS)),
  (parts, random) => {
    const found = parts.headers[random.integer(0, parts.headers.length - 1)];
    if (found !== undefined) found[1] = asBytes(random.pick(HOSTILE_TEXT));
  },
  (parts, random) => parts.headers.push(...parts.headers.slice(random.integer(0, 2))),
  (parts, random) => parts.headers.splice(random.integer(0, 4), 1),
  (parts, random) => {
    const found = parts.headers[random.integer(0, parts.headers.length - 1)];
    if (found !== undefined)
      found[0] = random.pick([`${found[0]} `, ` ${found[0]}`, "", "a b", "\xff", "a\0b", "("]);
  },
  (parts, random) => parts.headers.push(["X-Folded", `one\r\n${random.pick([" ", "\t"])}two`]),
  (parts, random) => parts.headers.push(["X-Huge", "h".repeat(random.pick([8_000, 60_000, 100_000]))]),
  (parts) =>
    parts.headers.push(...Array.from({ length: 2500 }, (_, at): [string, string] => [`x-${at}`, "y"])),
  (parts, random) => setBody(parts, Buffer.from(random.pick(HOSTILE_JSON)), "application/json"),
  (parts, random) => setBody(parts, Buffer.from(random.pick(HOSTILE_JSON)), null),
  (parts, random) => setBody(parts, hostileBytes(random), "application/json"),
  (parts, random) => {
    const body = parts.body ?? Buffer.from('{"message":"x"}');
    setBody(parts, chunked(body, random), null);
    parts.measured = false;
    parts.headers.push(["Transfer-Encoding", "chunked"]);
  },
  (parts, random) => {
    if (parts.body === null) return;
    parts.measured = false;
    parts.headers.push(["Content-Length", String(parts.body.length + random.pick([-3, -1, 1, 7, 1000]))]);
  },
];

/** Applies one to four mutations. */
export function mutate(parts: RequestParts, random: Random): void {
  for (let count = random.integer(1, 4); count > 0; count -= 1) random.pick(MUTATIONS)(parts, random);
}

/** Encodes a body in chunks (RFC 9112 section 7.1), sometimes invalid or truncated. */
function chunked(body: Buffer, random: Random): Buffer {
  const size = body.length.toString(16);
  const text = body.toString("latin1");
  const forms = [
    `${size}\r\n${text}\r\n0\r\n\r\n`,
    `${size};name=value\r\n${text}\r\n0\r\nTrailer: x\r\n\r\n`,
    `${size}\r\n${text}\r\n`,
    `${size}\r\n${text.slice(0, 3)}`,
    `${size}\n${text}\n0\n\n`,
    `zz\r\n${text}\r\n0\r\n\r\n`,
    `-1\r\n${text}\r\n0\r\n\r\n`,
    `FFFFFFFFFFFFFFFFF\r\n${text}`,
    `0${size}\r\n${text}\r\n0\r\n\r\n`,
    `1\r\n${text}\r\n0\r\n\r\n`,
    "0\r\n\r\n",
  ];
  return Buffer.from(random.pick(forms), "latin1");
}

function addHeader(parts: RequestParts, header: string): void {
  const colon = header.indexOf(":");
  parts.headers.push([header.slice(0, colon), header.slice(colon + 2)]);
}

function replaceHeader(parts: RequestParts, header: string): void {
  const name = header.slice(0, header.indexOf(":")).toLowerCase();
  parts.headers = parts.headers.filter(([other]) => other.toLowerCase() !== name);
  addHeader(parts, header);
}

function setBody(parts: RequestParts, body: Buffer, type: string | null): void {
  parts.body = body;
  if (type !== null) replaceHeader(parts, `Content-Type: ${type}`);
}

/**
 * Percent-encodes what can be encoded, and leaves lone surrogates as the bytes that a careless client would
 * send.
 */
function encodeLoosely(text: string): string {
  return text.isWellFormed()
    ? encodeURIComponent(text)
    : asBytes(text).replaceAll(/[^a-z]/gi, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
