// Uploads and downloads files of the session in the header. Upload bodies are not JSON: they are streamed to
// the file store.

import { Readable } from "node:stream";
import { z } from "zod";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { ByteRange } from "@colloquy/engine/internal/core/plugins/file-store";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import { servedType } from "@colloquy/engine/internal/files/media-types";
import { MEDIA_TYPES } from "@colloquy/protocol/media-types";
import { addressKeyOf } from "../client-address.ts";
import { ConcurrencyLimit } from "../concurrency-limits.ts";
import { noneMatch } from "../answers.ts";
import { Attachment } from "../documented.ts";
import { AppName, HEADERS, optional, refusals } from "../operation.ts";
import { textHeader } from "../request.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

/** Maximum concurrent uploads per address, and per process. */
const UPLOADS_PER_ADDRESS = 10;
const UPLOADS_IN_ALL = 200;
const NAME_MAX = 1_000;

const UploadQuery = z.object({
  app: optional(AppName),
  name: optional(
    z
      .string("must be a string")
      .max(NAME_MAX, `must be at most ${NAME_MAX} characters`)
      .meta({ description: "Name of the file; folders in it are left out", examples: ["bridge.png"] }),
  ),
});

/** Documents a response with bytes of any served type. */
function bytes(description: string) {
  const content = [...new Set(MEDIA_TYPES.map((type) => servedType(type).split(";")[0] ?? ""))].map(
    (type) => [type, { schema: z.string().meta({ format: "binary" }) }] as const,
  );
  return { description, content: Object.fromEntries(content) };
}

const FilePath = z.object({ id: z.uuid("must be the id of a file").toLowerCase() });

export function fileRoutes(app: HttpApp, parts: RouteParts): void {
  uploadRoute(app, parts);
  downloadRoute(app, parts);
}

function uploadRoute(app: HttpApp, { services, admission }: RouteParts): void {
  const ofAddress = new ConcurrencyLimit(UPLOADS_PER_ADDRESS);
  const inAll = new ConcurrencyLimit(UPLOADS_IN_ALL);
  app.post(
    "/api/files",
    {
      config: {
        access: { session: "header", app: "body", scope: "chat", creates: true, counted: "caller" },
        streamsBody: true,
      },
      bodyLimit: services.files.maxBytes,
      schema: {
        operationId: "uploadFile",
        summary: "Upload a file",
        description:
          "The body is the file, and `Content-Type` its type. Its id can be an attachment of messages of this session; a file that no message uses expires after a day. " +
          "Creates the session if it does not exist.",
        tags: ["Conversation"],
        headers: z.object({ ...HEADERS.session, ...HEADERS.appKey }),
        querystring: UploadQuery,
        response: { 200: Attachment, ...refusals(401, 404, 409, 413, 415, 429, 503, 507) },
      },
    },
    async (request) => {
      const { caller, raw, query } = request;
      const { sessionId } = caller;
      const appName = query.app ?? DEFAULT_APP;
      const { access } = caller.in(appName, null);
      const length =
        raw.headers["transfer-encoding"] === undefined ? lengthOf(raw.headers["content-length"]) : null;
      const address = addressKeyOf(request);
      const content = bytesOf(raw);
      // Node discards a refused body only if none of it was read. Otherwise the next request waits for the rest.
      const discardRest = (): void => void raw.resume();
      ofAddress.acquire(address, "uploads of one address");
      try {
        inAll.acquire("", "uploads");
        try {
          const counted = { app: appName, clientId: null, sessionId };
          await admission.upload(request, counted, Math.min(length ?? Infinity, services.files.maxBytes));
          return await services.files.upload(
            {
              sessionId,
              access,
              app: appName,
              name: query.name ?? "",
              declared: raw.headers["content-type"],
              length,
              content,
              authorizeAgain: () => caller.authorizeAgain(appName),
            },
            admission.newSession(request),
          );
        } finally {
          inAll.release("");
          // Not awaited: a read may be in progress.
          void content.return(undefined).then(discardRest, discardRest);
        }
      } finally {
        ofAddress.release(address);
      }
    },
  );
}

function lengthOf(header: string | undefined): number {
  return header === undefined ? 0 : Number(header);
}

/** Throws `ServiceError` 400 if the client aborts the upload, so that the file is not stored. */
async function* bytesOf(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>)
      yield chunk;
  } catch (error) {
    throw new ServiceError(400, "request_invalid", "The file did not arrive completely. Send it again.", {
      cause: error,
    });
  }
}

function downloadRoute(app: HttpApp, { services }: RouteParts): void {
  app.get(
    "/api/files/:id",
    {
      config: { access: { session: "header", app: "session", scope: "read", inTransaction: true } },
      schema: {
        operationId: "downloadFile",
        summary: "Download a file",
        description:
          "For the session that uploaded it, and those with a message or a result that has it. Pages need `fetch`, because `<img>` sends no headers.",
        tags: ["Conversation"],
        params: FilePath,
        headers: z.object({
          ...HEADERS.session,
          ...HEADERS.sessionKey,
          ...HEADERS.range,
          ...HEADERS.ifNoneMatch,
        }),
        response: {
          200: bytes("The bytes"),
          206: bytes("A part of them"),
          304: z.undefined().meta({ description: "Unchanged" }),
          ...refusals(401, 404, 416, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const { caller, raw, params } = request;
      const { file, read } = await caller.run((access) =>
        services.files.open(caller.sessionId, params.id, access),
      );
      const { bytes: size, media_type: type, name, sha256 } = file;
      const tag = `"${sha256}"`;
      void reply.headers({ etag: tag, "accept-ranges": "bytes" });
      const known = textHeader(raw, "if-none-match");
      if (known !== null && noneMatch(known, tag)) return reply.code(304).send();
      const onlyIf = textHeader(raw, "if-range");
      const range = onlyIf === null || onlyIf === tag ? rangeOf(textHeader(raw, "range"), size) : null;
      if (range === "unsatisfiable") throw unsatisfiable(size);
      const content = await read(range);
      const length = range === null ? size : range.last - range.first + 1;
      if (range !== null) {
        void reply.code(206).header("content-range", `bytes ${range.first}-${range.last}/${size}`);
      }
      return reply
        .headers({
          "content-type": servedType(type),
          "content-length": String(length),
          "content-disposition": dispositionOf(name),
          // Browsers that display the file must not run scripts in it.
          "content-security-policy": "default-src 'none'; sandbox",
        })
        .send(Readable.from(content, { objectMode: false }));
    },
  );
}

/**
 * Returns the range of a `Range` header (RFC 9110 section 14.2). Returns `null` for the whole file, and for
 * several ranges, which a server may ignore.
 */
function rangeOf(header: string | null, bytes: number): ByteRange | null | "unsatisfiable" {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? "") ?? [];
  if (from === "" && to === "") return null;
  const first = from === "" ? Math.max(0, bytes - Number(to)) : Number(from);
  const last = from === "" || to === "" ? bytes - 1 : Math.min(Number(to), bytes - 1);
  if (from !== "" && to !== "" && Number(to) < Number(from)) return null;
  return first > last ? "unsatisfiable" : { first, last };
}

function unsatisfiable(bytes: number): ServiceError {
  return new ServiceError(
    416,
    "range_not_satisfiable",
    `The file has ${bytes} bytes. Ask for a part of them.`,
    {
      headers: { "content-range": `bytes */${bytes}` },
    },
  );
}

/** Returns `Content-Disposition` with the name in ASCII for old clients, and in UTF-8 (RFC 6266, RFC 8187). */
function dispositionOf(name: string): string {
  const ascii = name.normalize("NFKD").replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
