// Files that tools return.

import { createHash, randomBytes } from "node:crypto";
import { APICallError } from "@ai-sdk/provider";
import { type ScriptedCall, ScriptedModel } from "@colloquy/testing";
import type { Message } from "@colloquy/protocol";
import { tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type FileStore, defineFileStore } from "../core/plugins/file-store.ts";
import { defineTool, defineToolSource } from "../core/plugins/tool-source.ts";
import type { ToolContext, ToolFile } from "../core/ports/driven/tool.ts";
import { memoryFiles } from "../files/memory.ts";
import { FILES } from "../files/testing/sample-files.ts";
import { createEngine, type Engine } from "../wiring/engine.ts";
import { HistoryWindow } from "./history.ts";
import { promptOf } from "./prompt.ts";

const RIG = "test/scripted";
const MIB = 1024 * 1024;
const session = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";
const PNG: ToolFile = { data: FILES.png, mediaType: "image/png", name: "dot.png" };

let engine: Pick<Engine, "conversations" | "close"> | null = null;
let model: ScriptedModel;
let failsToStore = false;
/** Called before bytes are stored. */
let beforePut = (): Promise<void> => Promise.resolve();
afterEach(async () => {
  beforePut = () => Promise.resolve();
  await engine?.close();
});

/** Starts an engine whose tools return these files, and this output. */
async function start(
  files: readonly ToolFile[] | (() => readonly ToolFile[]),
  output: unknown = { dots: 1 },
  {
    limits = {},
    key = "none-at-all",
    environment = {},
  }: { limits?: object; key?: string; environment?: Record<string, string> } = {},
) {
  model = new ScriptedModel();
  failsToStore = false;
  const run = async (context: ToolContext): Promise<unknown> => {
    for (const file of typeof files === "function" ? files() : files) context.attach(file);
    if (output instanceof Error) throw output;
    return output;
  };
  const draw = defineToolSource({
    name: "draw",
    version: "1.0.0",
    settings: z.strictObject({ apiKey: z.string() }),
    create: () => ({
      tools: () => [
        defineTool({
          name: "chart",
          description: "Draws a chart",
          inputSchema: z.object({}),
          execute: async (_input, context) => await run(context),
        }),
      ],
    }),
  });
  const failing = defineFileStore({
    name: "failing",
    version: "1.0.0",
    open: (): FileStore => {
      const inMemory = memoryFiles();
      return {
        ...inMemory,
        put: async (name, content) => {
          await beforePut();
          if (failsToStore) throw new Error("The disk of 10.0.0.1 is gone.");
          await inMemory.put(name, content);
        },
      };
    },
  });
  const own = tool({
    inputSchema: z.object({}),
    execute: async (_input, options) => await run(options.context as unknown as ToolContext),
  });
  engine = await createEngine({
    plugins: [draw, failing],
    files: { kind: "failing" },
    limits,
    environment,
    models: { [RIG]: model },
    apps: {
      default: { models: [RIG], utilityModel: "demo/assistant", draw: { apiKey: key }, tools: { own } },
    },
  });
  return engine.conversations;
}

/** Lets the model call a tool, so many times in one step. Returns its call after the results. */
async function callTool(name = "draw_chart", times = 1): Promise<ScriptedCall> {
  await engine!.conversations.chat({ session, message: "draw" });
  const call = await model.next();
  for (let count = 0; count < times; count += 1) call.callTool(name, {});
  call.finish("tool-calls");
  return await model.next();
}
/** Returns the answer with its results. */
const answer = async (): Promise<Message> =>
  (await engine!.conversations.state({ session })).messages.findLast(({ sender }) => sender === "agent")!;
async function finish(call: ScriptedCall): Promise<void> {
  call.say("Done.").finish();
  await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
}
/** Returns the output of the last result in a prompt. */
const outputIn = ({ options: { prompt } }: ScriptedCall) =>
  prompt.flatMap(({ role, content }) =>
    role === "tool" ? content.flatMap((part) => (part.type === "tool-result" ? [part.output] : [])) : [],
  );

/** Returns the parts of the user's messages in a prompt. */
const partsOf = ({ options: { prompt } }: ScriptedCall) =>
  prompt.flatMap((message) => (message.role === "user" ? message.content : []));

describe("files of a result", () => {
  it.each(["draw_chart", "own"])(
    "are stored, and named in the result of %s without their bytes",
    async (name) => {
      const conversations = await start([PNG, { data: FILES.text, mediaType: "text/csv", name: "cups.csv" }]);
      await finish(await callTool(name));
      const { tool_results: [result] = [] } = await answer();
      expect(result).toEqual({
        call_id: expect.any(String) as string,
        name,
        output: { dots: 1 },
        is_error: false,
        duration_ms: expect.any(Number) as number,
        attachments: [
          {
            id: expect.any(String) as string,
            media_type: "image/png",
            bytes: FILES.png.length,
            sha256: createHash("sha256").update(FILES.png).digest("hex"),
            name: "dot.png",
          },
          expect.objectContaining({ media_type: "text/csv", name: "cups.csv" }),
        ],
      });
      const { content } = await conversations.download({ session, file: result!.attachments![0]!.id });
      expect(Buffer.concat(await Array.fromAsync(content)).equals(FILES.png)).toBe(true);
      const other = conversations.download({
        session: crypto.randomUUID(),
        file: result!.attachments![0]!.id,
      });
      await expect(other).rejects.toMatchObject({ code: "file_not_found" });
    },
  );

  it("have the type of their bytes, whatever image the tool declares", async () => {
    await start([{ data: FILES.jpeg, mediaType: "image/png", name: "photo" }, { data: FILES.pdf }]);
    await finish(await callTool());
    expect((await answer()).tool_results?.[0]?.attachments).toMatchObject([
      { media_type: "image/jpeg", name: "photo" },
      { media_type: "application/pdf", name: "document.pdf" },
    ]);
  });

  it.each<[string, ToolFile, RegExp]>([
    ["of a type that is not accepted", { data: FILES.zip, name: "all.zip" }, /"all\.zip".*application\/zip/],
    ["with active content", { data: Buffer.from("<svg/>"), mediaType: "image/svg+xml" }, /svg\+xml/],
    ["that are empty", { data: new Uint8Array(), name: "none.png" }, /"none\.png".*empty/],
    ["that are too large", { data: Buffer.concat([FILES.png, Buffer.alloc(20 * MIB)]) }, /at most 20 MiB/],
    [
      "that are too large to remove secrets from",
      { data: Buffer.alloc(MIB + 1, "a"), mediaType: "text/plain" },
      /at most 1 MiB/,
    ],
  ])("%s become a sentence of the result, and the call succeeds", async (_, file, sentence) => {
    await start([file, PNG], "Drawn.");
    await finish(await callTool());
    const { tool_results: [result] = [] } = await answer();
    expect(result).toMatchObject({ is_error: false, attachments: [{ name: "dot.png" }] });
    expect(result?.output).toMatch(/^Drawn\.\n\n\[The file ".*" of this result was not kept\. /);
    expect(result?.output).toMatch(sentence);
  });

  it("beyond ten become a sentence, after the parts of the output", async () => {
    await start(
      Array.from({ length: 12 }, () => PNG),
      ["one"],
    );
    await finish(await callTool());
    const [result] = (await answer()).tool_results ?? [];
    expect(result?.attachments).toHaveLength(10);
    expect(result?.output).toEqual(["one", "[2 more files were not kept: a result may have 10.]"]);
  });

  it("that exceed the quota together become a sentence", async () => {
    const image = (): ToolFile => ({ data: Buffer.concat([FILES.png, randomBytes(0.6 * MIB)]) });
    await start([image(), image()], { dots: 2 }, { limits: { ownerFileBytes: MIB } });
    await finish(await callTool());
    const [result] = (await answer()).tool_results ?? [];
    expect(result?.attachments).toHaveLength(1);
    expect(result?.output).toEqual([
      { dots: 2 },
      expect.stringContaining("Your files have reached their limit"),
    ]);
  });

  it("that exceed the quota together become a sentence, also if their calls are concurrent", async () => {
    // Neither is stored before both calls have been checked.
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    beforePut = async () => await gate.promise;
    await start(
      () => {
        begun += 1;
        if (begun === 2) gate.resolve();
        return [{ data: Buffer.concat([FILES.png, randomBytes(0.6 * MIB)]) }];
      },
      "Drawn.",
      { limits: { ownerFileBytes: MIB } },
    );
    await finish(await callTool("draw_chart", 2));
    const { tool_results: results = [] } = await answer();
    expect(results.flatMap(({ attachments = [] }) => attachments)).toHaveLength(1);
    const refused = expect.stringContaining("Your files have reached their limit") as string;
    expect(results.map(({ output }) => output)).toEqual(expect.arrayContaining(["Drawn.", refused]));
  });

  it("beyond those of an answer become a sentence for the model, also in later steps", async () => {
    const sentence =
      '[The file "dot.png" of this result was not kept. All results of an answer may have 100 files with 100 MiB together. Answer with what there is.]';
    await start(
      Array.from({ length: 10 }, () => PNG),
      "Drawn.",
    );
    const call = await callTool("draw_chart", 10);
    call.callTool("draw_chart", {}).finish("tool-calls");
    const last = await model.next();
    const { tool_results: results = [] } = await answer();
    expect(results.flatMap(({ attachments = [] }) => attachments)).toHaveLength(100);
    const refused = ["Drawn.", ...Array.from({ length: 10 }, () => sentence)].join("\n\n");
    expect(results.at(-1)?.output).toBe(refused);
    expect(JSON.stringify(outputIn(last).at(-1))).toContain("may have 100 files");
    await finish(last);
  });

  it("that cannot be stored become a sentence without the reason", async () => {
    await start([PNG], null);
    failsToStore = true;
    await finish(await callTool());
    const [result] = (await answer()).tool_results ?? [];
    expect(result).toMatchObject({ is_error: false });
    expect(result).not.toHaveProperty("attachments");
    expect(result?.output).toEqual([
      '[The file "dot.png" of this result was not kept. It could not be stored.]',
    ]);
  });

  it("are dropped if the call fails", async () => {
    await start([PNG], new Error("No ink."));
    const call = await callTool();
    expect(outputIn(call)).toEqual([{ type: "error-text", value: "No ink." }]);
    await finish(call);
    expect((await answer()).tool_results?.[0]).not.toHaveProperty("attachments");
  });

  it("must have bytes", async () => {
    await start([{ data: "iVBORw0KGgo=" } as unknown as ToolFile]);
    const call = await callTool();
    expect(outputIn(call)).toEqual([
      { type: "error-text", value: "The data of a file must be a Uint8Array." },
    ]);
    await finish(call);
  });

  it("need no type or name, and keep no secret in them", async () => {
    const key = "secret-key-of-the-chart-service";
    await start(
      [
        { data: FILES.text, mediaType: `image/${key}`, name: "n".repeat(2_000) },
        { data: FILES.text, mediaType: `text/${key}` },
      ],
      "",
      { key: "{{env.CHART_KEY}}", environment: { CHART_KEY: key } },
    );
    await finish(await callTool());
    expect(JSON.stringify(await answer())).not.toContain(key);
  });

  it("must have a type and a name of text", async () => {
    await start([{ data: FILES.png, mediaType: 5 as unknown as string }]);
    await finish(await callTool());
    expect((await answer()).tool_results).toMatchObject([{ is_error: true }]);
  });

  it("lose the keys of the configuration, in text and names", async () => {
    const key = "secret-key-of-the-chart-service";
    const data = Buffer.from(`url,key\nhttps://charts.example,${key}\n`);
    const conversations = await start(
      [{ data, mediaType: "text/csv", name: `${key}.csv` }],
      {},
      { key: "{{env.CHART_KEY}}", environment: { CHART_KEY: key } },
    );
    await finish(await callTool());
    const [file] = (await answer()).tool_results?.[0]?.attachments ?? [];
    expect(file?.name).toBe("[secret].csv");
    const { content } = await conversations.download({ session, file: file!.id });
    expect(Buffer.concat(await Array.fromAsync(content)).toString()).toBe(
      "url,key\nhttps://charts.example,[secret]\n",
    );
  });
});

describe("a prompt", () => {
  it("contains the files after the result, in this turn and later ones", async () => {
    await start([PNG, { data: FILES.text, mediaType: "text/plain", name: "cups.txt" }]);
    const seen = [
      { type: "text", text: "draw" },
      { type: "text", text: '[The tool draw_chart returned the file "dot.png", which is included here.]' },
      { type: "file", mediaType: "image/png", filename: "dot.png" },
    ];
    const call = await callTool();
    // Text stays in the result: a model takes what is in a message of the user for the user's words.
    expect(outputIn(call)).toEqual([
      { type: "text", value: '{"dots":1}\n\nThe file "cups.txt":\n\ntea,cups\n🫖,2\n' },
    ]);
    expect(partsOf(call)).toMatchObject(seen);
    await finish(call);
    await engine!.conversations.chat({ session, message: "thanks" });
    const later = await model.next();
    expect(partsOf(later)).toMatchObject([...seen, { type: "text", text: "thanks" }]);
    later.finish();
  });

  it("contains an equal file once", async () => {
    await start([PNG, { ...PNG, name: "same.png" }]);
    const call = await callTool();
    expect(partsOf(call).slice(2)).toMatchObject([{ type: "file" }]);
    expect(outputIn(call)).toMatchObject([
      {
        value: expect.stringContaining(
          '[The tool draw_chart returned the file "same.png", which is the file "dot.png" above.]',
        ) as string,
      },
    ]);
    await finish(call);
  });

  it.each([
    "this model does not support image input",
    "Your request was rejected by the safety system: content_policy_violation",
  ])("describes a file that the model refuses, and the turn goes on: %s", async (reason) => {
    await start([PNG]);
    const call = await callTool();
    call.fail(refusal(reason));
    const again = await model.next();
    expect(partsOf(again)).toMatchObject([{ text: "draw" }]);
    expect(outputIn(again)).toMatchObject([
      {
        value: expect.stringMatching(
          /\[The tool draw_chart returned the file "dot.png" \(image\/png, \d+ bytes\), which you cannot read/,
        ) as string,
      },
    ]);
    await finish(again);
    expect(await answer()).toMatchObject({ status: "complete", content: "Done." });
  });

  const file = { id: "f", media_type: "image/png", bytes: 9, sha256: "a", name: "dot.png" };
  const step = {
    kind: "step",
    turn: 1,
    step: 1,
    parts: [{ type: "tool-call", toolCallId: "abcdefghi", toolName: "draw", input: {} }],
    results: new Map([["abcdefghi", { output: "", is_error: false, files: [file] }]]),
    rejection: null,
  } as const;
  const question = { kind: "user", text: "draw" } as const;
  const rules = { origin: "here", callIds: "nine", alternates: false, reasoning: "always" } as const;
  const image = { type: "file", mediaType: "image/png", data: "" };
  const lead = { type: "text", text: '[The tool draw returned the file "dot.png", which is included here.]' };

  it("contains the files in a message of the user, for providers that take text as a result", () => {
    expect(promptOf([question, step], rules, "native", () => image)).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      { role: "tool", content: [{ output: { type: "text", value: "" } }] },
      { role: "user", content: [lead, image] },
    ]);
    const alternating = promptOf([question, step], { ...rules, alternates: true }, "native", () => image);
    expect(alternating.slice(2)).toMatchObject([
      { role: "tool" },
      { role: "assistant", content: [{ text: "(no answer)" }] },
      { role: "user", content: [image, lead] },
    ]);
  });

  it("contains the files after the result in its plain form, and no blank text beside them", () => {
    const [, , plain] = promptOf([question, step], rules, "plain", () => image);
    expect(plain).toMatchObject({
      role: "user",
      content: [{ text: "The tool draw returned: " }, lead, image],
    });
    const [, , inside] = promptOf(
      [question, step],
      { ...rules, filesInResults: true },
      "native",
      () => image,
    );
    expect(inside).toMatchObject({
      content: [{ output: { type: "content", value: [lead, { type: "file", data: { type: "data" } }] } }],
    });
  });

  it("counts an image as tokens, not as bytes", () => {
    const size = (bytes: number): number => {
      const history = new HistoryWindow([pastTurn()], rules, 100_000);
      const before = history.bytes;
      const results = new Map([["abcdefghi", { output: "", is_error: false, files: [{ ...file, bytes }] }]]);
      history.addStep(1, { number: 1, parts: [...step.parts] }, results);
      return history.bytes - before;
    };
    expect(size(20_000_000)).toBeGreaterThan(3 * 1_600);
    expect(size(20_000_000)).toBeLessThan(3 * 1_600 + 1_000);
    expect(size(10)).toBeGreaterThan(3 * 1_600);
  });
});

const pastTurn = () => ({
  number: 1,
  state: "running" as const,
  userMessage: { content: "draw" },
  agentMessage: null,
  steps: [],
});

function refusal(message: string): APICallError {
  const url = "http://127.0.0.1/";
  const statusCode = 400;
  return new APICallError({
    message,
    url,
    requestBodyValues: {},
    statusCode,
    responseBody: message,
    isRetryable: false,
  });
}
