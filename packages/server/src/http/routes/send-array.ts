// Lists that are read while the client takes them.

import type { FastifyReply } from "fastify";
import type { RecordPage } from "../../core/ports/driving/services.ts";
import { emptyStream, jsonArray } from "../json-stream.ts";

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
