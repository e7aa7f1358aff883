// Routes of `/v1/files`, which read the files of messages and results. Clients upload files in messages or with
// `POST /api/files`.

import { Readable } from "node:stream";
import { z } from "zod";
import { fileId, type FileRef, parseFileId, sessionOfFile, unknownId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import { answers, type App, type Parts, TAGS } from "./route-parts.ts";
import type { FastifyRequest, OpenFile } from "@colloquy/server/protocol";

const FilePath = z.object({
  id: z.string().refine((id) => sessionOfFile(id) !== null, "must be the id of a file (file-…)"),
});

export function fileRoutes(app: App, parts: Parts): void {
  const access = { session: "path", app: "session", scope: "read", sessionOf: sessionOfFile } as const;
  const common = { tags: TAGS, params: FilePath };
  app.get(
    "/v1/files/:id",
    {
      config: parts.served.accessOf(access),
      schema: {
        ...common,
        operationId: "openaiGetFile",
        summary: "Get a file of a message or a result",
        response: answers("The file, without its content"),
      },
    },
    async (request) => {
      const { ref, opened } = await servedFile(parts, request);
      return fileObject(ref, opened);
    },
  );
  app.get(
    "/v1/files/:id/content",
    {
      config: parts.served.accessOf(access),
      schema: {
        ...common,
        operationId: "openaiGetFileContent",
        summary: "Download a file of a message or a result",
        response: answers("The content", { isFile: true }),
      },
    },
    async (request, reply) => {
      const { opened } = await servedFile(parts, request);
      const content = await opened.read(null);
      return reply
        .headers({
          // Browsers must not display the content.
          "content-type": "application/octet-stream",
          "content-length": String(opened.file.bytes),
        })
        .send(Readable.from(content, { objectMode: false }));
    },
  );
}

async function servedFile(
  parts: Parts,
  request: FastifyRequest,
): Promise<{ readonly ref: FileRef; readonly opened: OpenFile }> {
  const { id } = request.params as { readonly id: string };
  const ref = parseFileId(id);
  if (ref === null) throw unknownId("file", id);
  const conversation = parts.context.conversation(request);
  const opened = await conversation.openFile(ref.file);
  await parts.served.assertOf(conversation);
  return { ref, opened };
}

function fileObject(ref: FileRef, { file, createdAt }: OpenFile): JsonObject {
  return {
    id: fileId(ref),
    object: "file",
    bytes: file.bytes,
    created_at: Math.floor(createdAt / 1000),
    expires_at: null,
    filename: file.name,
    purpose: "user_data",
    status: "processed",
    status_details: null,
  };
}
