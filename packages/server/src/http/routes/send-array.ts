// Lists that are read while the client takes them.

import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { RecordPage } from "../../core/ports/driving/services.ts";

/** Answers HEAD without reading any portion. */
export function sendArray(reply: FastifyReply, portions: AsyncIterable<readonly unknown[]>): FastifyReply {
  const body = reply.request.method === "HEAD" ? emptyStream() : jsonArray(portions);
  return reply.type("application/json; charset=utf-8").send(body);
}

/** Sends a page of the records at `path`; `limit` also holds for the next one. */
export function sendRecords(
  reply: FastifyReply,
  path: string,
  limit: number,
  { records, next }: RecordPage,
): FastifyReply {
  if (next !== null) reply.header("link", nextLink(path, { after: next, limit: String(limit) }));
  return sendArray(reply, records);
}

/** The value of `Link` that names the next page (RFC 8288). */
export function nextLink(path: string, query: Readonly<Record<string, string>>): string {
  return `<${path}?${new URLSearchParams(query).toString()}>; rel="next"`;
}

/**
 * A JSON array of all that the portions hold. The next portion is read when the client has taken the one before, so that an
 * answer of any length holds a few portions in memory.
 */
function jsonArray(portions: AsyncIterable<readonly unknown[]>): Readable {
  return Readable.from(textOf(portions), { highWaterMark: 1 });
}

/** In place of an array for HEAD: a stream, because an answer that is streamed has no `Content-Length`. */
function emptyStream(): Readable {
  return Readable.from([]);
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
