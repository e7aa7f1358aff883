// Writes responses directly to the socket. The framework's reply would cost more than finding the session.

import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { SnapshotView } from "@colloquy/engine/internal/core/ports/driving/services";
import type { Edge, RequestLog } from "./edge.ts";
import { asEventStream } from "./event-stream.ts";
import { textHeader } from "./request.ts";

/**
 * Maximum size of a snapshot that is sent as a string. Node writes head and body at once through a stack
 * buffer (16 KiB), which takes a seventh less time.
 */
const SHORT_BYTES = 15 * 1024;

/** The request to respond to. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Pattern of the request's path. */
  readonly route: string;
  /** `Prefer: wait` in milliseconds, 0 for none. */
  readonly waitMs: number;
  /** Further header fields of an event stream. */
  readonly fields?: Readonly<Record<string, string>>;
}

export type Answers = ReturnType<typeof createAnswers>;

export function createAnswers(edge: Edge, log: RequestLog) {
  /** Takes over the response from the framework. */
  const takeOver = ({ request, reply, route, waitMs }: Exchange, status: number): Record<string, string> => {
    request.caller.assertAuthorized();
    reply.hijack();
    log.answered(request, route, status, waitMs > 0);
    const fields = edge.fields(request);
    if (waitMs > 0) fields["preference-applied"] = `wait=${waitMs / 1000}`;
    return fields;
  };
  return {
    /** Sends a snapshot. */
    snapshot(exchange: Exchange, view: SnapshotView): void {
      sendView(exchange.reply.raw, takeOver(exchange, 200), view);
    },
    /** Like `snapshot` with an entity tag, or 304 if the client has these bytes (RFC 9110 section 13.1.2). */
    taggedSnapshot(exchange: Exchange, view: SnapshotView): void {
      const known = textHeader(exchange.request.raw, "if-none-match");
      const unchanged = known !== null && noneMatch(known, view.etag);
      const fields = takeOver(exchange, unchanged ? 304 : 200);
      fields["etag"] = view.etag;
      const { raw } = exchange.reply;
      if (unchanged) raw.writeHead(304, fields).end();
      else sendView(raw, fields, view);
    },
    /** Writes the head of an event stream and returns the response for its events. */
    stream(exchange: Exchange): ServerResponse {
      const fields = takeOver(exchange, 200);
      fields["content-type"] = "text/event-stream";
      // Proxies would otherwise compress events, or buffer them, as nginx does.
      fields["cache-control"] = "no-store, no-transform";
      fields["x-accel-buffering"] = "no";
      Object.assign(fields, exchange.fields);
      return asEventStream(exchange.reply.raw.writeHead(200, fields));
    },
  };
}

function sendView(response: ServerResponse, fields: Record<string, string>, view: SnapshotView): void {
  fields["content-type"] = "application/json; charset=utf-8";
  fields["content-length"] = String(view.length);
  response.writeHead(200, fields);
  const [first] = view.parts;
  if (view.length <= SHORT_BYTES && view.parts.length === 1 && first !== undefined) {
    // Latin-1 maps each byte to one character, so that head and body are sent in one write. The string is not
    // cached, which would double each session's memory.
    const { buffer, byteOffset, length } = first;
    response.end(Buffer.from(buffer, byteOffset, length).toString("latin1"), "latin1");
    return;
  }
  response.cork();
  for (const part of view.parts) response.write(part);
  response.uncork();
  response.end();
}

const TAG = /(?:W\/)?("[^"]*")/g;

/**
 * Returns true if `If-None-Match` (a list or `*`, compared weakly) matches the entity tag (RFC 9110 section 13.1.2).
 */
export function noneMatch(header: string, tag: string): boolean {
  if (header === tag || header.trim() === "*") return true;
  for (const [, opaque] of header.matchAll(TAG)) if (opaque === tag) return true;
  return false;
}
