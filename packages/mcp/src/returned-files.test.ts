// Files in the results of servers.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine } from "@colloquy/engine";
import { memoryFiles } from "@colloquy/engine/internal/files/memory";
import { defineFileStore } from "@colloquy/engine/internal/core/plugins/file-store";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { ScriptedModel } from "../../testing/src/models/scripted-model.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import mcp from "./index.ts";
import { useScriptedServer } from "./testing/use-scripted-server.ts";

const PNG = FILES.png.toString("base64");
const IMAGE = { type: "image", data: PNG, mimeType: "image/png" };
const scripted = useScriptedServer();
const call = async (result: object, tool: object = {}) => {
  const { server, open } = scripted;
  server.tools = [{ name: "work", inputSchema: { type: "object" }, ...tool }];
  server.call = () => result;
  const tools = open();
  onTestFinished(() => tools.toolset.close());
  return await tools.call("srv_work");
};

describe("a result with files", () => {
  it("has images, recordings and binary resources, and describes them in its output", async () => {
    const csv = {
      uri: "file:///tmp/tea%20list.csv?v=1",
      mimeType: "text/csv",
      blob: FILES.text.toString("base64"),
    };
    const { output, files } = await call({
      content: [
        { type: "text", text: "Two cups:" },
        IMAGE,
        { type: "audio", data: FILES.wav.toString("base64"), mimeType: "audio/wav" },
        { type: "resource", resource: csv },
        { type: "resource", resource: { uri: "file:///notes.txt", text: "tea" } },
      ],
    });
    expect(output).toEqual([
      "Two cups:",
      { type: "image", mime_type: "image/png", bytes: FILES.png.length },
      { type: "audio", mime_type: "audio/wav", bytes: FILES.wav.length },
      { type: "resource", uri: csv.uri, mime_type: "text/csv", bytes: FILES.text.length },
      { type: "resource", uri: "file:///notes.txt", mime_type: null, text: "tea" },
    ]);
    expect(files).toMatchObject([
      { mediaType: "image/png", data: FILES.png },
      { mediaType: "audio/wav", data: FILES.wav },
      { mediaType: "text/csv", name: "tea%20list.csv", data: FILES.text },
    ]);
  });

  it("has them beside structured content, which loses a copy of their bytes", async () => {
    const structuredContent = { result: [{ type: "image", data: PNG }, { cups: 2 }] };
    const { output, files } = await call(
      { content: [IMAGE], structuredContent },
      {
        outputSchema: {
          type: "object",
          properties: { result: { type: "array" } },
          required: ["result"],
        },
      },
    );
    expect(output).toEqual({
      result: [{ type: "image", data: `[a file of ${FILES.png.length} bytes]` }, { cups: 2 }],
    });
    expect(files).toHaveLength(1);
  });

  it("loses a copy of their bytes in a text", async () => {
    const copy = JSON.stringify({ cups: 2, image: `data:image/png;base64,${PNG}` });
    const { output } = await call({ content: [{ type: "text", text: copy }, IMAGE] });
    expect(output).toEqual([
      `{"cups":2,"image":"data:image/png;base64,[a file of ${FILES.png.length} bytes]"}`,
      { type: "image", mime_type: "image/png", bytes: FILES.png.length },
    ]);
  });

  it("loses copies of all of them, also in names and as base64url", async () => {
    const images = Array.from({ length: 12 }, (_, index) => {
      const bytes = Buffer.concat([FILES.png, Buffer.alloc(4_000, index)]);
      return { ...IMAGE, data: bytes.toString("base64") };
    });
    const [first, ...others] = images.map(({ data }) => data);
    const other = Buffer.from(first!, "base64").toString("base64url");
    const structuredContent = { images: others, [first!]: "a name", other };
    const { output } = await call({ content: images, structuredContent });
    const text = JSON.stringify(output);
    expect(text.match(/\[a file of \d+ bytes\]/g)).toHaveLength(13);
    expect(text.length).toBeLessThan(1_000);
  });

  it("costs the service no more than its length, whatever the server repeats", async () => {
    // Searching for this data in this text takes minutes.
    const data = `${"A".repeat(400)}B${"A".repeat(1_000_003)}`;
    const { output } = await call({
      content: [
        { type: "text", text: "A".repeat(2_000_000) },
        { ...IMAGE, data },
      ],
    });
    expect(output).toMatch(/^\["A{1000}/);
  });

  it("keep long texts beside them that are not copies", async () => {
    const structuredContent = { calldata: `0x${"a9059cbb".repeat(1_000)}` };
    const { output } = await call({ content: [IMAGE], structuredContent });
    expect(output).toEqual(structuredContent);
  });

  it("may have data URLs instead of base64", async () => {
    const { files } = await call({ content: [{ ...IMAGE, data: `data:image/png;base64,${PNG}` }] });
    expect(files).toMatchObject([{ data: FILES.png }]);
  });

  it("has none if it is an error", async () => {
    const outcome = await call({ isError: true, content: [{ type: "text", text: "No page." }, IMAGE] });
    expect(outcome).toMatchObject({ isError: true });
    expect(outcome).not.toHaveProperty("files");
  });

  it("is not shown as base64 if it is too large", async () => {
    const { output } = await call({ content: [{ ...IMAGE, data: "A".repeat(5 * 1024 * 1024) }] });
    expect(output).toBe("[This file was not read: a message of a tool server may have 4194304 bytes.]");
  });
});

const SERVER = `
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const results = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools: [{ name: "screenshot", inputSchema: { type: "object" } }] },
  "tools/call": { content: [${JSON.stringify(IMAGE)}] },
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (results[method] !== undefined) say({ id, result: results[method] });
});
`;

it("the screenshot of a server process reaches the model and the session", async () => {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-files-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "server.cjs");
  await writeFile(file, SERVER);
  const model = new ScriptedModel();
  const inMemory = defineFileStore({ name: "memory", version: "1.0.0", open: () => memoryFiles() });
  const engine = await createEngine({
    plugins: [mcp, inMemory],
    files: { kind: "memory" },
    models: { "test/scripted": model },
    apps: {
      default: {
        models: ["test/scripted"],
        utilityModel: "demo/assistant",
        mcp: { browser: { command: process.execPath, args: [file] } },
        approvals: { browser_screenshot: "never" },
      },
    },
  });
  onTestFinished(() => engine.close());
  const session = crypto.randomUUID();
  await engine.conversations.chat({ session, message: "look" });
  (await model.next()).callTool("browser_screenshot", {}).finish("tool-calls");
  const next = await model.next();
  expect(next.prompt.at(-1)).toContain('"mediaType":"image/png"');
  next.say("A dot.").finish();
  await expect.poll(async () => (await engine.conversations.state({ session })).is_processing).toBe(false);
  const { messages } = await engine.conversations.state({ session });
  const [attachment] = messages[1]?.tool_results?.[0]?.attachments ?? [];
  expect(attachment).toMatchObject({ media_type: "image/png", name: "image.png", bytes: FILES.png.length });
  const { content } = await engine.conversations.download({ session, file: attachment!.id });
  expect(Buffer.concat(await Array.fromAsync(content)).equals(FILES.png)).toBe(true);
});
