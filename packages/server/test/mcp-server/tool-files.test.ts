// Files of results and messages, as resources, with the SDK's client.

import { randomUUID } from "node:crypto";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import type { PersistedMessage } from "@colloquy/protocol";
import type { Client, ClientOptions } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { MODERN, post, useMcp } from "./mcp-service.ts";

interface LinkedFile {
  readonly uri: string;
  readonly name: string;
  readonly media_type: string;
  readonly bytes: number;
}

const REVISIONS: readonly (readonly [string, ClientOptions])[] = [
  ["2026-07-28", MODERN],
  ["2025-11-25", {}],
  ["2025-06-18", { supportedProtocolVersions: ["2025-06-18"] }],
];
const MIB = 1024 * 1024;

const service = useMcp();

/** Answers with these calls of the tool, then with a text. */
async function answer(...inputs: readonly object[]): Promise<void> {
  const call = await service().model.next();
  for (const input of inputs) call.callTool("draw", input);
  call.finish("tool-calls");
  (await service().model.next()).say("Drawn.").finish();
}

async function start(client: Client, ...inputs: readonly object[]) {
  const starting = client.callTool({ name: "start_conversation", arguments: { message: "draw" } });
  await answer(...inputs);
  const { content, structuredContent } = await starting;
  const structured = structuredContent as {
    readonly session_id: string;
    readonly is_cut: boolean;
    readonly files?: readonly LinkedFile[];
  };
  return { content, structured, files: structured.files ?? [] };
}

describe.each(REVISIONS)("with a client of revision %s, files of results", (_revision, options) => {
  it("are linked in the content, the structured content and the text, and can be read", async () => {
    const client = await service().connect(options);
    const { content, structured, files } = await start(client, {});
    const at = `colloquy://sessions/${structured.session_id}/files/`;
    expect(files).toEqual([
      {
        uri: expect.stringContaining(at) as string,
        name: "chart-0.png",
        media_type: "image/png",
        bytes: FILES.png.length,
      },
      expect.objectContaining({ name: "cups.csv", media_type: "text/csv" }),
    ]);
    expect(content.filter(({ type }) => type === "resource_link")).toEqual(
      files.map(({ uri, name, media_type: mimeType, bytes: size }) => ({
        type: "resource_link",
        uri,
        name,
        mimeType,
        size,
      })),
    );
    expect(JSON.stringify(content[1])).toContain(files[0]!.uri);
    const [image, table] = files.map(({ uri }) => uri);
    expect((await client.readResource({ uri: image! })).contents).toEqual([
      { uri: image, mimeType: "image/png", blob: FILES.png.toString("base64") },
    ]);
    expect((await client.readResource({ uri: table! })).contents).toEqual([
      { uri: table, mimeType: "text/csv", text: FILES.text.toString() },
    ]);
  });
});

describe("the files of a conversation", () => {
  it("are at their messages in get_conversation and in the transcript, also those of users", async () => {
    const client = await service().connect(MODERN);
    const { structured, files } = await start(client, {});
    const { session_id: session } = structured;
    const headers = { "X-Session-Id": session };
    const uploaded = await fetch(`${service().url}/api/files?name=notes.md`, {
      method: "POST",
      headers: { ...headers, "Content-Type": "text/markdown" },
      body: "# Notes",
    });
    const { id } = (await uploaded.json()) as { readonly id: string };
    const sending = fetch(`${service().url}/api/chat`, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json", Prefer: "wait=20" },
      body: JSON.stringify({ message: "read", attachments: [id] }),
    });
    (await service().model.next()).say("Read.").finish();
    await sending;
    const got = await client.callTool({ name: "get_conversation", arguments: { session_id: session } });
    const notes = {
      uri: `colloquy://sessions/${session}/files/${id}`,
      name: "notes.md",
      media_type: "text/markdown",
      bytes: 7,
    };
    const { messages } = got.structuredContent as { readonly messages: readonly object[] };
    expect(messages[0]).not.toHaveProperty("files");
    expect(messages.slice(1)).toMatchObject([
      { text: "Drawn.", tools: ["draw"], files },
      { text: "read", files: [notes] },
      { text: "Read." },
    ]);
    expect(got.content.filter(({ type }) => type === "resource_link")).toHaveLength(3);
    expect((await client.readResource({ uri: notes.uri })).contents).toMatchObject([{ text: "# Notes" }]);
    const transcript = await client.readResource({ uri: `colloquy://sessions/${session}` });
    for (const text of [JSON.stringify(got.content[0]), JSON.stringify(transcript.contents)])
      for (const { uri } of [...files, notes]) expect(text.split(uri)).toHaveLength(2);
  });

  it("are only the newest 20 of a result", async () => {
    const client = await service().connect(MODERN);
    const { structured, files, content } = await start(client, { charts: 9 }, { charts: 9 }, { charts: 2 });
    const { session_id } = structured;
    const stored = await client.readResource({ uri: `colloquy://sessions/${session_id}/messages` });
    const { text } = stored.contents[0] as { readonly text: string };
    const [, { tool_results: results }] = JSON.parse(text) as [unknown, PersistedMessage];
    const ids = results!.flatMap(({ attachments = [] }) => attachments.map(({ id }) => id));
    expect(ids).toHaveLength(23);
    expect(files.map(({ uri }) => uri.slice(-36))).toEqual(ids.slice(3));
    expect(structured.is_cut).toBe(true);
    expect(content.filter(({ type }) => type === "resource_link")).toHaveLength(20);
    const got = await client.callTool({ name: "get_conversation", arguments: { session_id } });
    expect(got.structuredContent).toMatchObject({ messages: [{}, { files }] });
    const sending = client.callTool({ name: "send_message", arguments: { session_id, message: "more" } });
    await answer({ charts: 2 });
    const { files: more } = (await sending).structuredContent as { readonly files: readonly LinkedFile[] };
    const all = await client.callTool({ name: "get_conversation", arguments: { session_id } });
    expect(more).toHaveLength(3);
    expect(all.structuredContent).toMatchObject({
      messages: [{}, { files: files.slice(3) }, {}, { files: more }],
    });
  });

  it("are no links for clients of earlier revisions, which reject them", async () => {
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "start_conversation", arguments: { message: "draw" } },
    };
    for (const version of [{}, { "mcp-protocol-version": "2025-03-26" }]) {
      const starting = post(`${service().url}/mcp`, message, version);
      await answer({});
      const { result } = JSON.parse((await starting).text) as {
        readonly result: { readonly content: readonly { readonly type: string; readonly text: string }[] };
      };
      expect(result.content.map(({ type }) => type)).toEqual(["text", "text"]);
      expect(result.content[1]!.text).toContain("file: colloquy://");
    }
  });

  it("are not read if they are large: the error says where to download them", async () => {
    const client = await service().connect(MODERN);
    const { structured, files } = await start(client, { charts: 1, padding: 2 * MIB - FILES.png.length });
    const { contents } = await client.readResource({ uri: files[0]!.uri });
    expect((contents[0] as { readonly blob: string }).blob).toHaveLength(Math.ceil((2 * MIB) / 3) * 4);
    const { session_id } = structured;
    const sending = client.callTool({ name: "send_message", arguments: { session_id, message: "more" } });
    await answer({ charts: 1, padding: 2 * MIB });
    const [large] = ((await sending).structuredContent as { readonly files: readonly LinkedFile[] }).files;
    const id = large!.uri.slice(-36);
    await expect(client.readResource({ uri: large!.uri })).rejects.toMatchObject({
      message: expect.stringContaining(`GET /api/files/${id} with the header X-Session-Id: ${session_id}`),
      data: { code: "file_too_large", request_id: expect.any(String) },
    });
    const headers = { "X-Session-Id": session_id };
    const download = await fetch(`${service().url}/api/files/${id}`, { headers });
    expect((await download.arrayBuffer()).byteLength).toBe(large!.bytes);
  });

  it("are unknown in other conversations", async () => {
    const client = await service().connect(MODERN);
    const [first, other] = [await start(client, {}), await start(client, {})];
    const file = first.files[0]!.uri.slice(-36);
    for (const session of [other.structured.session_id, randomUUID()])
      await expect(
        client.readResource({ uri: `colloquy://sessions/${session}/files/${file}` }),
      ).rejects.toMatchObject({ data: { code: "file_not_found", request_id: expect.any(String) } });
    for (const uri of [`${first.files[0]!.uri}/x`, first.files[0]!.uri.replace(file, "nonsense")])
      await expect(client.readResource({ uri })).rejects.toThrow();
  });
});
