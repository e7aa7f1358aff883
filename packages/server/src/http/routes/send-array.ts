// Streams lists: reads a portion from the store when the client has read the previous one.

import { hash } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { RecordPage } from "@colloquy/engine/internal/core/ports/driving/services";

/** Bytes of records per write. A client that does not read keeps two such pieces in memory. */
const PIECE_BYTES = 256 * 1024;
const JSON_TYPE = "application/json; charset=utf-8";

/**
 * Sends a JSON array of all portions. Reads the next portion when the client has received the previous one.
 */
export async function sendArray(
  reply: FastifyReply,
  portions: AsyncIterable<readonly unknown[]>,
): Promise<FastifyReply> {
  const body = await bodyOf(reply, textOf(portions));
  return reply.type(JSON_TYPE).send(body);
}

/** Sends a page of records. `query` also applies to the link to the next page. */
export async function sendRecords(
  reply: FastifyReply,
  query: Readonly<Record<string, string>>,
  page: RecordPage,
): Promise<FastifyReply> {
  const body = await bodyOf(reply, piecesOf(page));
  const { next } = page;
  if (next !== null) reply.header("link", nextLink({ after: next, ...query }));
  return reply.type(JSON_TYPE).send(body);
}

/**
 * Reads the first portion before the head is sent, so that a deleted session gets a problem document; only
 * later portions can end the response early. HEAD gets an empty stream, because a streamed response has no
 * `Content-Length`.
 */
async function bodyOf(reply: FastifyReply, pieces: AsyncGenerator<string | Buffer>): Promise<Readable> {
  if (reply.request.method === "HEAD") return Readable.from([]);
  const { value: first } = await pieces.next();
  return streamOf(startingWith(first, pieces));
}

async function* startingWith(
  first: string | Buffer,
  pieces: AsyncGenerator<string | Buffer>,
): AsyncGenerator<string | Buffer> {
  yield first;
  yield* pieces;
}

/**
 * Returns the value of `Link` that names the next page of the requested path (RFC 8288). It is relative, so that it
 * holds behind a path prefix too.
 */
export function nextLink(query: Readonly<Record<string, string>>): string {
  return `<?${new URLSearchParams(query).toString()}>; rel="next"`;
}

/** Returns a JSON array of the records of a page, in pieces. Fails if a large record changes while the client reads it. */
export function recordArray(page: RecordPage): Readable {
  return streamOf(piecesOf(page));
}

function streamOf(pieces: AsyncIterable<string | Buffer>): Readable {
  return Readable.from(pieces, { highWaterMark: 1 });
}

async function* textOf(portions: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
  let before = "[";
  for await (const portion of portions) {
    if (portion.length === 0) continue;
    yield before + portion.map((one) => JSON.stringify(one)).join();
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

/** Start of a piece. */
interface Place {
  /** Id of the record before its portion; `null` at the start of the page. */
  readonly after: string | null;
  /** Bytes of the portion that were already sent. */
  readonly offset: number;
  /**
   * The portion, if part of it was sent. A weak reference, so that the rest can be freed under memory
   * pressure and read again.
   */
  readonly portion: {
    readonly bytes: WeakRef<Buffer>;
    readonly digest: string;
    readonly last: string;
  } | null;
}

async function* piecesOf(page: RecordPage): AsyncGenerator<string | Buffer> {
  let place: Place = { after: null, offset: 0, portion: null };
  for (let before = "["; ; before = ",") {
    const piece = await readPiece(page, place);
    if (piece === null) break;
    if (place.offset === 0) yield before;
    yield piece.bytes;
    place = piece.next;
  }
  yield place.after === null ? "[]" : "]";
}

/** A separate function, so that nothing else refers to the portion while the client reads. */
async function readPiece(
  page: RecordPage,
  place: Place,
): Promise<{ readonly bytes: Buffer; readonly next: Place } | null> {
  const { after, offset } = place;
  const portion = await portionAt(page, place);
  if (portion === null) return null;
  const { bytes, last } = portion;
  const done = { after: last, offset: 0, portion: null };
  if (bytes.length <= PIECE_BYTES) return { bytes, next: done };
  const digest = place.portion?.digest ?? hash("sha1", bytes);
  const end = offset + PIECE_BYTES;
  return {
    // A copy, because a view would keep the whole portion in memory.
    bytes: Buffer.from(bytes.subarray(offset, end)),
    next:
      end < bytes.length
        ? { after, offset: end, portion: { bytes: new WeakRef(bytes), digest, last } }
        : done,
  };
}

async function portionAt(
  page: RecordPage,
  { after, portion }: Place,
): Promise<{ readonly bytes: Buffer; readonly last: string } | null> {
  const kept = portion?.bytes.deref();
  if (portion !== null && kept !== undefined) return { bytes: kept, last: portion.last };
  const records = await page.read(after);
  const last = records.at(-1);
  if (last === undefined) return null;
  const bytes = Buffer.from(records.map((record) => JSON.stringify(record)).join());
  if (portion !== null && portion.digest !== hash("sha1", bytes)) {
    throw new Error("A record changed while a client was reading it.");
  }
  return { bytes, last: last.id };
}
