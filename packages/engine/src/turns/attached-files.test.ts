// Attached files in prompts.

import { APICallError } from "@ai-sdk/provider";
import { type ScriptedCall, ScriptedModel } from "@colloquy/testing";
import { afterEach, describe, expect, it } from "vitest";
import { type ByteRange, defineFileStore } from "../core/plugins/file-store.ts";
import { memoryFiles } from "../files/memory.ts";
import { FILES } from "../files/testing/sample-files.ts";
import { createEngine, type Engine } from "../wiring/engine.ts";
import { HistoryWindow } from "./history.ts";

const RIG = "test/scripted";
const OTHER = "test/other";
let engine: Pick<Engine, "conversations" | "close"> | null = null;
let model: ScriptedModel;
let other: ScriptedModel;
/** Ranges that were read from the file store. */
const reads: (ByteRange | null)[] = [];
const watchedFiles = defineFileStore({
  name: "watched",
  version: "1.0.0",
  open: () => {
    const files = memoryFiles();
    return {
      ...files,
      get: async (name, range) => {
        reads.push(range);
        return await files.get(name, range);
      },
    };
  },
});
afterEach(async () => await engine?.close());

async function start(tools: readonly "calculator"[] = []) {
  model = new ScriptedModel();
  other = new ScriptedModel();
  reads.length = 0;
  engine = await createEngine({
    plugins: [watchedFiles],
    files: { kind: "watched" },
    models: { [RIG]: model, [OTHER]: other },
    apps: { default: { models: [RIG, OTHER], utilityModel: "demo/assistant", tools } },
  });
  return engine.conversations;
}
async function* bytes(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
const session = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";
const upload = async (content: Uint8Array, name = "") =>
  (await engine!.conversations.upload({ session, content: bytes(content), name })).id;
/** Returns the parts of the user's messages in the prompt of a call. */
const partsOf = ({ options: { prompt } }: ScriptedCall) =>
  prompt.flatMap((message) => (message.role === "user" ? message.content : []));
const answerTo = async (text: string, attachments: readonly string[] = []) => {
  await engine!.conversations.chat({ session, message: text, attachments });
  const call = await model.next();
  return call;
};

describe("a prompt", () => {
  it("contains files before the message's text, with text files as text", async () => {
    await start();
    const ids = [await upload(FILES.png, "a.png"), await upload(Buffer.from("a,b"), "t.csv")];
    const call = await answerTo("look", ids);
    expect(partsOf(call)).toMatchObject([
      { type: "file", mediaType: "image/png", filename: "a.png", data: expect.anything() as unknown },
      { type: "text", text: 'The file "t.csv":\n\na,b' },
      { type: "text", text: "look" },
    ]);
    call.finish("stop");
  });

  it("names a PDF as such, whatever its name", async () => {
    await start();
    const names = ["scan", "scan.png", "Scan.PDF"];
    const ids: string[] = [];
    for (const [index, name] of names.entries())
      ids.push(await upload(Buffer.concat([FILES.pdf, Buffer.from([48 + index])]), name));
    const call = await answerTo("look", ids);
    expect(partsOf(call).slice(0, 3)).toMatchObject([
      { mediaType: "application/pdf", filename: "scan.pdf" },
      { mediaType: "application/pdf", filename: "scan.png.pdf" },
      { mediaType: "application/pdf", filename: "Scan.PDF" },
    ]);
    call.finish();
  });

  it("contains the files of earlier messages for the next model, after one that took none", async () => {
    await start();
    const first = await answerTo("look", [await upload(FILES.png, "a.png")]);
    first.fail(refusal(400, "messages[0]: unknown variant `image_url`, expected `text`"));
    (await model.next()).say("I cannot see it.").finish();
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
    await engine!.conversations.chat({ session, message: "and you?", model: OTHER });
    const second = await other.next();
    expect(partsOf(second)).toMatchObject([
      { type: "file", filename: "a.png" },
      { type: "text", text: "look" },
      { type: "text", text: "and you?" },
    ]);
    second.finish();
  });

  it("describes a file that the model rejects, and the turn continues", async () => {
    await start();
    const first = await answerTo("look", [await upload(FILES.png, "a.png")]);
    first.fail(refusal(400, "this model does not support image input"));
    const second = await model.next();
    expect(partsOf(second)).toMatchObject([
      {
        text: expect.stringMatching(
          /^\[The user attached the file "a.png" \(image\/png, \d+ bytes\), which/,
        ) as string,
      },
      { text: "look" },
    ]);
    second.say("I cannot see it.");
    second.finish("stop");
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
    const { messages } = await engine!.conversations.state({ session });
    expect(messages[1]).toMatchObject({ status: "complete", content: "I cannot see it." });
  });

  it("describes only the files of earlier messages if the model then accepts the rest", async () => {
    await start();
    const first = await answerTo("look", [await upload(FILES.png, "huge.png")]);
    first.say("A dot.").finish();
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
    const second = await answerTo("and this?", [await upload(FILES.jpeg, "small.jpg")]);
    second.fail(
      refusal(400, "image dimensions exceed max allowed size for many-image requests: 2000 pixels"),
    );
    const third = await model.next();
    expect(partsOf(third)).toMatchObject([
      { type: "text", text: expect.stringContaining('"huge.png"') as string },
      { type: "text", text: "look" },
      { type: "file", filename: "small.jpg" },
      { type: "text", text: "and this?" },
    ]);
    third.fail(refusal(400, "Could not process image"));
    const fourth = await model.next();
    expect(partsOf(fourth).filter(({ type }) => type === "file")).toEqual([]);
    fourth.say("I cannot see it.").finish();
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
  });

  it("keeps text files and calls as they are if the model refuses images in unknown words", async () => {
    await start(["calculator"]);
    const ids = [await upload(FILES.png, "a.png"), await upload(Buffer.from("a,b"), "t.csv")];
    const first = await answerTo("look", ids);
    first.callTool("calculator", { expression: "1+1" }).finish("tool-calls");
    (await model.next()).fail(refusal(400, "aspect ratio must be smaller than 200, got 1000.0"));
    const third = await model.next();
    expect(third.prompt.at(-1)).toMatch(/^tool: /);
    third.say("Two.").finish();
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
    const later = await answerTo("thanks");
    expect(later.prompt.some((message) => message.startsWith("tool: "))).toBe(true);
    expect(partsOf(later)).toMatchObject([
      { type: "file", filename: "a.png" },
      { type: "text", text: 'The file "t.csv":\n\na,b' },
      { type: "text", text: "look" },
      { type: "text", text: "thanks" },
    ]);
    later.finish();
  });

  it("contains files of earlier messages", async () => {
    await start();
    const first = await answerTo("look", [await upload(FILES.png)]);
    first.say("A dot.");
    first.finish("stop");
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
    const second = await answerTo("which colour?");
    expect(partsOf(second).filter(({ type }) => type === "file")).toHaveLength(1);
    second.finish("stop");
  });
});

describe("the files of a turn", () => {
  it("are read in each step, and text files only up to the prompt's limit", async () => {
    await start(["calculator"]);
    const text = Buffer.from("text ".repeat(100_000));
    const first = await answerTo("look", [await upload(FILES.png), await upload(text, "long.txt")]);
    first.callTool("calculator", { expression: "1+1" }).finish("tool-calls");
    const second = await model.next();
    expect(partsOf(second)).toEqual(partsOf(first));
    const expected = [null, { first: 0, last: expect.any(Number) as number }];
    expect(reads).toEqual([...expected, ...expected]);
    const { last = 0 } = reads[1] ?? {};
    expect(last).toBeLessThan(text.length);
    const cut = `[Cut: the file has ${text.length} bytes, and this conversation has room for ${last + 1}.]`;
    expect(partsOf(second)[1]).toMatchObject({ text: expect.stringContaining(cut) as string });
    second.finish();
  });
});

describe("equal files", () => {
  it("appear in a prompt once, at the first occurrence", async () => {
    await start();
    const image = await upload(FILES.png, "a.png");
    const first = await answerTo("look", [image, await upload(FILES.png, "b.png")]);
    const seen = [
      { type: "file", filename: "a.png" },
      { type: "text", text: '[The user attached the file "b.png", which is the file "a.png" above.]' },
      { type: "text", text: "look" },
    ];
    expect(partsOf(first)).toMatchObject(seen);
    first.say("A dot.").finish();
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
    const second = await answerTo("again", [image]);
    expect(partsOf(second)).toMatchObject([
      ...seen,
      { type: "text", text: '[The user attached the file "a.png", which is the file "a.png" above.]' },
      { type: "text", text: "again" },
    ]);
    second.finish();
  });
});

describe("a steering message", () => {
  it("adds its files to prompts of the turn that reads it and of later turns", async () => {
    await start(["calculator"]);
    const first = await answerTo("go");
    const image = await upload(FILES.png, "a.png");
    const table = await upload(Buffer.from("a,b"), "t.csv");
    const steer = { session, busy: "steer" } as const;
    await engine!.conversations.chat({ ...steer, message: "look", attachments: [image] });
    await engine!.conversations.chat({ ...steer, message: "", attachments: [table] });
    first.callTool("calculator", { expression: "1+1" }).finish("tool-calls");
    const seen = [
      { type: "text", text: "go" },
      { type: "file", mediaType: "image/png", filename: "a.png" },
      { type: "text", text: "look" },
      { type: "text", text: 'The file "t.csv":\n\na,b' },
    ];
    const second = await model.next();
    expect(partsOf(second)).toMatchObject(seen);
    second.say("Seen.").finish();
    await expect.poll(async () => (await engine!.conversations.state({ session })).is_processing).toBe(false);
    const later = await answerTo("thanks");
    expect(partsOf(later)).toMatchObject([...seen, { type: "text", text: "thanks" }]);
    later.finish();
  });
});

function refusal(statusCode: number, message: string): APICallError {
  return new APICallError({
    message,
    url: "http://127.0.0.1/",
    requestBodyValues: {},
    statusCode,
    responseBody: message,
    isRetryable: false,
  });
}

describe("the context window", () => {
  const rules = { origin: "here", callIds: "word", alternates: false, reasoning: "always" } as const;
  const file = (media_type: string, bytes: number) => ({ id: "f", media_type, bytes, sha256: "", name: "f" });
  const turn = (number: number, attachments: ReturnType<typeof file>[]) => ({
    number,
    state: "complete" as const,
    userMessage: { content: `question ${number}`, extras: { attachments } },
    agentMessage: null,
    steps: [],
  });

  it("counts an image as a fixed number of tokens", () => {
    const turns = [1, 2, 3].map((number) => turn(number, [file("image/png", 20_000_000)]));
    expect(new HistoryWindow(turns, rules, 20_000).entries()).toHaveLength(3);
    expect(new HistoryWindow(turns, rules, 10_500).entries()).toHaveLength(2);
  });

  it("counts text by its bytes, up to half of the window", () => {
    const turns = [turn(1, [file("text/plain", 9_000)]), turn(2, [file("text/plain", 20_000_000)])];
    expect(new HistoryWindow(turns, rules, 100_000).entries()).toHaveLength(2);
    expect(new HistoryWindow(turns, rules, 12_000).entries()).toHaveLength(1);
  });
});
