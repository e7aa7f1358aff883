// Serves conversations as resources: the transcript as Markdown, the stored messages as JSON, and the files.

import type { PersistedMessage } from "@colloquy/protocol";
import { isText } from "@colloquy/protocol/media-types";
import { ServiceError, storedFileUrl } from "@colloquy/server/protocol";
import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { assertOfApp, listThreads } from "./conversations.ts";
import type { Call } from "./call.ts";
import { fromRecord, markdownOf } from "./transcript.ts";
import {
  FILE_TEMPLATE,
  fileOfUri,
  MESSAGES_TEMPLATE,
  sessionOfUri,
  TRANSCRIPT_TEMPLATE,
  transcriptUri,
} from "./uris.ts";

const PAGE = 100;
const MIB = 1024 * 1024;
/** Maximum bytes of a file in a resource: formatting 2 MiB as base64 in JSON blocks other turns for about 50 ms. */
const FILE_MAX_BYTES = 2 * MIB;

export function addResources(server: McpServer, call: Call): void {
  const transcript = {
    title: "Transcript of a conversation",
    description: "The messages of a conversation as Markdown",
    mimeType: "text/markdown",
  };
  const messages = {
    title: "Messages of a conversation",
    description: "The stored messages of a conversation as JSON, with calls and results",
    mimeType: "application/json",
  };
  const file = {
    title: "File of a conversation",
    description: "A file of a message or of a tool's result",
  };
  const template = (pattern: string) => new ResourceTemplate(pattern, { list: undefined });
  server.registerResource("transcript", template(TRANSCRIPT_TEMPLATE), transcript, async (uri) => {
    const { title, records } = await read(call, uri);
    const text = `# ${title}\n\n${markdownOf(records.map(fromRecord))}`;
    return { contents: [{ uri: uri.href, mimeType: transcript.mimeType, text }] };
  });
  server.registerResource("messages", template(MESSAGES_TEMPLATE), messages, async (uri) => {
    const { records } = await read(call, uri);
    return { contents: [{ uri: uri.href, mimeType: messages.mimeType, text: JSON.stringify(records) }] };
  });
  server.registerResource("file", template(FILE_TEMPLATE), file, async (uri) => ({
    contents: [{ uri: uri.href, ...(await readFile(call, uri)) }],
  }));
  server.server.setRequestHandler("resources/list", async ({ params }) => {
    const cursor = params?.cursor ?? null;
    const page = await rpcErrors(call, () => listThreads(call, { publicKey: null, cursor, limit: PAGE }));
    const resources = (page?.threads ?? []).map(({ session_id, title, updated_at }) => ({
      uri: transcriptUri(session_id),
      name: session_id,
      title,
      mimeType: transcript.mimeType,
      annotations: { lastModified: updated_at },
    }));
    return { resources, ...(page !== null && page.next !== null && { nextCursor: page.next }) };
  });
}

interface Transcript {
  readonly title: string;
  readonly records: readonly PersistedMessage[];
}

async function read(call: Call, uri: URL): Promise<Transcript> {
  return await rpcErrors(call, async () => {
    const { conversation } = call;
    if (sessionOfUri(uri.href) !== conversation.id) throw notFound(call, uri);
    const { title } = await conversation.thread();
    await assertOfApp(call);
    const records: PersistedMessage[] = [];
    for await (const portion of conversation.messages()) records.push(...portion);
    return { title, records };
  });
}

type FileContent = { readonly mimeType: string } & ({ readonly text: string } | { readonly blob: string });

async function readFile(call: Call, uri: URL): Promise<FileContent> {
  return await rpcErrors(call, async () => {
    const { conversation } = call;
    const id = fileOfUri(uri.href);
    if (id === null) throw notFound(call, uri);
    await assertOfApp(call);
    const { file, read: open } = await conversation.openFile(id);
    if (file.bytes > FILE_MAX_BYTES) throw tooLarge(id, conversation.id);
    const content = Buffer.concat(await Array.fromAsync(await open(null)));
    const { media_type: mimeType } = file;
    return isText(mimeType)
      ? { mimeType, text: content.toString() }
      : { mimeType, blob: content.toString("base64") };
  });
}

function tooLarge(file: string, session: string): ServiceError {
  const detail = `The file is too large for a resource of at most ${FILE_MAX_BYTES / MIB} MiB. Download it: GET ${storedFileUrl(file)} with the header X-Session-Id: ${session}.`;
  return new ServiceError(413, "file_too_large", detail);
}

function notFound({ request }: Call, { href: uri }: URL): ProtocolError {
  const data = { uri, code: "resource_not_found", request_id: request.id };
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no resource ${uri.slice(0, 200)}.`,
    data,
  );
}

/** Runs `work`, and converts its `ServiceError`s to JSON-RPC errors. Logs other errors. */
async function rpcErrors<Result>({ request, context }: Call, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const request_id = request.id;
    if (error instanceof ServiceError) {
      const { status, detail, code } = error;
      const rpcCode = status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
      throw new ProtocolError(rpcCode, detail, { code, request_id });
    }
    context.logger.error({ err: error, request_id }, "a resource could not be read");
    const data = { code: "internal_error", request_id };
    throw new ProtocolError(ProtocolErrorCode.InternalError, "The service failed. Try again.", data);
  }
}
