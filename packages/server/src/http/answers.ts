// Answers that are written to the socket as they are. A snapshot is kept as bytes, so that polling costs a copy; going
// through the framework's reply would cost more than finding the session does.

import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { SnapshotView } from "../core/ports/services.ts";
import type { Edge } from "./edge.ts";
import { noneMatch } from "./entity-tag.ts";
import { textHeader } from "./headers.ts";
import type { RequestLog } from "./request-log.ts";

export interface Answers {
  /** Sends a snapshot. `waitMs` is what `Prefer: wait` asked for, 0 for nothing. */
  snapshot(request: FastifyRequest, reply: FastifyReply, route: string, view: SnapshotView, waitMs: number): void;
  /** As `snapshot`, with its entity tag, or 304 when the client has these bytes (RFC 9110 section 13.1.2). */
  taggedSnapshot(
    request: FastifyRequest,
    reply: FastifyReply,
    route: string,
    view: SnapshotView,
    waitMs: number,
  ): void;
  /** Writes the head of an event stream; what follows is written to the response that it answers. */
  stream(request: FastifyRequest, reply: FastifyReply, route: string): ServerResponse;
}

export function createAnswers(edge: Edge, log: RequestLog): Answers {
  return {
    snapshot(request, reply, route, view, waitMs) {
      sendView(request, reply, route, view, waitMs, null);
    },
    taggedSnapshot(request, reply, route, view, waitMs) {
      const known = textHeader(request.raw, "if-none-match");
      if (known === null || !noneMatch(known, view.etag)) {
        sendView(request, reply, route, view, waitMs, view.etag);
        return;
      }
      const fields = takeOver(request, reply, route, 304, waitMs);
      fields["etag"] = view.etag;
      reply.raw.writeHead(304, fields);
      reply.raw.end();
    },
    stream(request, reply, route) {
      const fields = takeOver(request, reply, route, 200, 0);
      fields["content-type"] = "text/event-stream";
      // nginx and its kin would hold events back until a buffer is full.
      fields["x-accel-buffering"] = "no";
      reply.raw.writeHead(200, fields);
      return reply.raw;
    },
  };

  function sendView(
    request: FastifyRequest,
    reply: FastifyReply,
    route: string,
    view: SnapshotView,
    waitMs: number,
    etag: string | null,
  ): void {
    const fields: Record<string, string | number> = takeOver(request, reply, route, 200, waitMs);
    fields["content-type"] = "application/json; charset=utf-8";
    fields["content-length"] = view.length;
    if (etag !== null) fields["etag"] = etag;
    const { raw } = reply;
    raw.writeHead(200, fields);
    const [only] = view.parts;
    if (only !== undefined && view.parts.length === 1) {
      raw.end(only);
      return;
    }
    raw.cork();
    for (const part of view.parts) raw.write(part);
    raw.uncork();
    raw.end();
  }

  function takeOver(
    request: FastifyRequest,
    reply: FastifyReply,
    route: string,
    status: number,
    waitMs: number,
  ): Record<string, string> {
    reply.hijack();
    log.answered(request, route, status, waitMs > 0);
    const fields = edge.fields(request.raw, request.id);
    if (waitMs > 0) fields["preference-applied"] = `wait=${waitMs / 1000}`;
    return fields;
  }
}
