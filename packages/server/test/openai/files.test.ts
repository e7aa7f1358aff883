// Images, files and audio in messages of both APIs, as real clients send them.

import { randomUUID } from "node:crypto";
import type OpenAI from "openai";
import { toFile } from "openai";
import type { Snapshot } from "@colloquy/protocol";
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { beforeAll, describe, expect, it } from "vitest";
import { refusalOf, useOpenAI } from "./openai-service.ts";

const service = useOpenAI();

const PNG_BASE64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PNG = Buffer.from(PNG_BASE64, "base64");
const IMAGE = `data:image/png;base64,${PNG_BASE64}`;
const PDF = Buffer.from("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n");
const WAV = Buffer.concat([
  Buffer.from("RIFF\x24\0\0\0WAVEfmt ", "latin1"),
  Buffer.alloc(20),
  Buffer.from("data\0\0\0\0", "latin1"),
]);
const base64 = (bytes: Buffer): string => bytes.toString("base64");

type Part = Record<string, unknown>;
const image = (url = IMAGE): Part => ({ type: "input_image", image_url: url, detail: "auto" });
const file = (more: Part): Part => ({ type: "input_file", filename: "report.pdf", ...more });
const user = (...content: readonly Part[]) => [{ role: "user", content }];

/** A file in the model's prompt: media type and bytes. */
type SeenFile = readonly [mediaType: string, bytes: Buffer];
let seen: readonly SeenFile[] = [];
/** Outputs of tools in the model's prompt. */
let outputs: readonly unknown[] = [];

beforeAll(() => {
  void answerAll();
});

/** Answers every model call, and records the files of the last one. */
async function answerAll(): Promise<void> {
  for (;;) {
    const call = await service().model.next();
    outputs = call.options.prompt.flatMap(({ role, content }) =>
      role === "tool" ? content.flatMap((part) => (part.type === "tool-result" ? [part.output] : [])) : [],
    );
    if (call.prompt.at(-1)?.includes("take a picture") === true) {
      call.callTool("look", {}).finish("tool-calls");
      continue;
    }
    seen = call.options.prompt.flatMap(({ role, content }) =>
      role === "user" ? content.flatMap(fileOf) : [],
    );
    call.say("Seen.").finish();
  }
}

function fileOf(part: LanguageModelV4TextPart | LanguageModelV4FilePart): SeenFile[] {
  if (part.type !== "file" || part.data.type !== "data") return [];
  const { data } = part.data;
  return [[part.mediaType, typeof data === "string" ? Buffer.from(data, "base64") : Buffer.from(data)]];
}

/** Sends a request to Responses. Returns the files in the model's prompt. */
async function respond(content: readonly Part[], more: object = {}) {
  const input = user(...content) as unknown as OpenAI.Responses.ResponseInput;
  const request = { model: "default", input, ...more };
  const response = (await service().client.responses.create(request)) as OpenAI.Responses.Response;
  return { response, files: seen };
}

/** Sends messages to Chat Completions. Returns the files in the model's prompt. */
async function complete(messages: readonly object[], more: object = {}) {
  const request = { model: "default", messages: messages as OpenAI.ChatCompletionMessageParam[], ...more };
  const completion = (await service().client.chat.completions.create(request)) as OpenAI.ChatCompletion;
  return { completion, files: seen };
}

const refusedInput = (...content: readonly Part[]) =>
  refusalOf(service().client.responses.create({ model: "default", input: user(...content) as never }));

const TEXT = { type: "input_text", text: "what is this?" };

describe("Responses with files", () => {
  it("passes an image and a file to the model, and returns them in input items with downloadable ids", async () => {
    const data = `data:application/pdf;base64,${base64(PDF)}`;
    const { response, files } = await respond([TEXT, image(), file({ file_data: data })]);
    expect(files).toEqual([
      ["image/png", PNG],
      ["application/pdf", PDF],
    ]);
    const { client } = service();
    const { data: items } = await client.responses.inputItems.list(response.id);
    expect(items).toMatchObject([
      {
        role: "user",
        content: [
          { type: "input_image", detail: "auto", file_id: expect.stringMatching(/^file-/) },
          { type: "input_file", filename: "report.pdf", file_id: expect.stringMatching(/^file-/) },
          { type: "input_text", text: "what is this?" },
        ],
      },
    ]);
    const conversation = await client.conversations.items.list(response.conversation!.id);
    expect(conversation.data.at(-1)).toEqual(items[0]);
    const { content } = items[0] as unknown as { content: { file_id: string }[] };
    const id = content[1]!.file_id;
    expect(await client.files.retrieve(id)).toMatchObject({ id, filename: "report.pdf", bytes: PDF.length });
    const download = await client.files.content(id);
    expect(Buffer.from(await download.arrayBuffer())).toEqual(PDF);
  });

  it("accepts the id of a file of the same conversation, in either form", async () => {
    const { response } = await respond([TEXT, image()]);
    const { client } = service();
    const conversation = response.conversation!.id;
    const { data } = await client.responses.inputItems.list(response.id);
    const { file_id: id } = (data[0] as unknown as { content: { file_id: string }[] }).content[0]!;
    const again = await respond([{ type: "input_image", file_id: id }], { conversation });
    expect(again.files).toEqual([["image/png", PNG]]);
    const uploaded = await fetch(`${service().url}/api/files?name=notes.md`, {
      method: "POST",
      headers: { "X-Session-Id": conversation.slice("conv_".length), "Content-Type": "text/markdown" },
      body: "# Notes",
    });
    const { id: uuid } = (await uploaded.json()) as { id: string };
    const { response: last } = await respond([file({ filename: undefined, file_id: uuid })], {
      conversation,
    });
    const items = await client.responses.inputItems.list(last.id);
    expect(items.data).toMatchObject([{ content: [{ type: "input_file", filename: "notes.md" }] }]);
  });

  it("accepts in a branch the id of a file of the original conversation", async () => {
    const { client } = service();
    const fileOf = async (response: string): Promise<string> => {
      const { data } = await client.responses.inputItems.list(response);
      return (data[0] as unknown as { content: { file_id: string }[] }).content[0]!.file_id;
    };
    const { response: first } = await respond([TEXT, image()]);
    const data = `data:application/pdf;base64,${base64(PDF)}`;
    const after = { previous_response_id: first.id };
    const { response: second } = await respond([file({ file_data: data }), TEXT], after);
    const id = await fileOf(first.id);
    const branch = await respond([{ type: "input_image", file_id: id }], after);
    expect(branch.response.conversation).not.toEqual(first.conversation);
    expect(branch.files).toEqual([["image/png", PNG]]);
    const later = await respond([{ type: "input_image", file_id: id }], {
      previous_response_id: branch.response.id,
    });
    expect(later.response.conversation).toEqual(branch.response.conversation);
    expect(later.files).toEqual([["image/png", PNG]]);

    const before = await service().sessions();
    const input = user(image(), file({ file_id: await fileOf(second.id) })) as never;
    const refused = await refusalOf(client.responses.create({ model: "default", input, ...after }));
    expect(refused).toMatchObject({
      status: 400,
      code: "file_not_found",
      param: "input[0].content[1].file_id",
      message: expect.stringContaining("up to its previous response"),
    });
    expect(await service().sessions()).toEqual(before);
  });

  it("rejects the id of a file of another conversation, and stores nothing", async () => {
    const { client } = service();
    const { response } = await respond([image()]);
    const { data } = await client.responses.inputItems.list(response.id);
    const { file_id: id } = (data[0] as unknown as { content: { file_id: string }[] }).content[0]!;
    const before = await service().sessions();
    expect(await refusedInput(image(), file({ file_id: id }))).toMatchObject({
      status: 400,
      code: "file_not_found",
    });
    expect(await service().sessions()).toEqual(before);
  });

  it("accepts a message without text", async () => {
    const { response, files } = await respond([image(), { type: "input_text", text: "" }]);
    expect(files).toHaveLength(1);
    const { data } = await service().client.responses.inputItems.list(response.id);
    expect((data[0] as unknown as { content: Part[] }).content).toMatchObject([{ type: "input_image" }]);
  });

  it("accepts the same image twice in one message", async () => {
    const { response } = await respond([TEXT, image(), image()]);
    const { data } = await service().client.responses.inputItems.list(response.id);
    expect((data[0] as unknown as { content: Part[] }).content).toMatchObject([
      { type: "input_image" },
      { type: "input_image" },
      { type: "input_text" },
    ]);
  });

  it("stores a repeated request with the same Idempotency-Key once", async () => {
    const { client } = service();
    const { id: conversation } = await client.conversations.create();
    const options = { headers: { "Idempotency-Key": randomUUID() } };
    const send = () =>
      client.responses.create(
        { model: "default", conversation, input: user(TEXT, image()) as never },
        options,
      );
    const first = await send();
    expect((await send()).id).toBe(first.id);
  });

  it("stores images of the history, and passes them to the model", async () => {
    const input = [
      ...user(TEXT, image()),
      { role: "assistant", content: "A dot." },
      { role: "user", content: "sure?" },
    ] as OpenAI.Responses.ResponseInput;
    const { client } = service();
    const response = await client.responses.create({ model: "default", input });
    expect(seen).toEqual([["image/png", PNG]]);
    const { data } = await client.conversations.items.list(response.conversation!.id, { order: "asc" });
    expect(data[0]).toMatchObject({ content: [{ type: "input_image" }, { type: "input_text" }] });
  });

  it.each([
    ["an upper-case type", IMAGE.replace("image/png", "IMAGE/PNG")],
    ["an upper-case scheme and encoding", IMAGE.replace("data:", "DATA:").replace("base64", "BASE64")],
    ["parameters", IMAGE.replace(";base64", ";charset=utf-8;name=dot.png;base64")],
    ["line breaks", `data:image/png;base64,${PNG_BASE64.replace(/.{20}/g, "$&\r\n")}`],
    ["the URL-safe alphabet, without padding", `data:image/png;base64,${PNG.toString("base64url")}`],
    ["percent-encoding", IMAGE.replaceAll("=", "%3D").replaceAll("+", "%2B")],
    ["white space around it", ` \n${IMAGE} \n`],
    ["another image type than its bytes", IMAGE.replace("image/png", "image/jpeg")],
    ["an unregistered type", IMAGE.replace("image/png", "image/jpg")],
    ["no type", IMAGE.replace("image/png", "")],
  ])("accepts a data URL with %s", async (_what, url) => {
    expect((await respond([TEXT, image(url)])).files).toEqual([["image/png", PNG]]);
  });

  it.each([
    ["base64 without data:", file({ file_data: base64(PDF) })],
    ["no filename", file({ filename: undefined, file_data: base64(PDF) })],
    ["a name without extension", file({ filename: "report", file_data: base64(PDF) })],
    ["no type", file({ file_data: `data:;base64,${base64(PDF)}` })],
    [
      "the type of arbitrary bytes",
      file({ file_data: `data:application/octet-stream;base64,${base64(PDF)}` }),
    ],
    ["the part of Chat Completions", { type: "file", file: { file_data: base64(PDF), filename: "a.pdf" } }],
  ])("accepts a file with %s", async (_what, part) => {
    expect((await respond([TEXT, part])).files).toEqual([["application/pdf", PDF]]);
  });

  it("accepts text files by their names", async () => {
    const { response } = await respond([
      TEXT,
      file({ filename: "a.csv", file_data: base64(Buffer.from("a,b\n")) }),
    ]);
    const { data } = await service().client.responses.inputItems.list(response.id);
    expect(data).toMatchObject([{ content: [{ type: "input_file", filename: "a.csv" }, {}] }]);
  });

  it.each([
    ["an address", image("https://example.com/a.png"), "image_url", "unsupported_parameter"],
    [
      "the address of a file",
      file({ file_url: "https://example.com/a.pdf" }),
      "file_url",
      "unsupported_parameter",
    ],
    ["a local address", image("file:///etc/passwd"), "image_url", "unsupported_parameter"],
    ["no base64", image("data:image/png;base64,@@@"), "image_url", "parameter_invalid"],
    ["no comma", image("data:image/png;base64"), "image_url", "parameter_invalid"],
    ["no bytes", image("data:image/png;base64,"), "image_url", "file_empty"],
    [
      "text as an image",
      image(`data:image/png;base64,${base64(Buffer.from("hi"))}`),
      "image_url",
      "file_type_unsupported",
    ],
    [
      "a script",
      image(`data:image/svg+xml;base64,${base64(Buffer.from("<svg/>"))}`),
      "image_url",
      "file_type_unsupported",
    ],
    ["no data", { type: "input_file", filename: "a.pdf" }, "file_data", "parameter_invalid"],
    ["no image", { type: "input_image" }, "image_url", "parameter_invalid"],
    ["an unknown id", file({ file_id: "file-abc123" }), "file_id", "parameter_invalid"],
    ["the id of no file", file({ file_id: randomUUID() }), "file_id", "file_not_found"],
  ])("rejects %s with a 400 that names the field, and stores nothing", async (_what, part, field, code) => {
    const before = await service().sessions();
    const refusal = await refusedInput(TEXT, part);
    expect(refusal).toMatchObject({ status: 400, code, param: `input[0].content[1].${field}` });
    expect(await service().sessions()).toEqual(before);
  });

  it("rejects more than ten files, and files of other roles", async () => {
    expect(await refusedInput(...Array.from({ length: 11 }, () => image()))).toMatchObject({
      status: 400,
      param: "input[0].content[10].image_url",
    });
    const assistant = [{ role: "assistant", content: [image()] }, ...user(TEXT)];
    expect(
      await refusalOf(service().client.responses.create({ model: "default", input: assistant as never })),
    ).toMatchObject({ status: 400, code: "unsupported_parameter" });
    const parts = Array.from({ length: 11 }, () => image());
    const output = [{ type: "function_call_output", call_id: "c", output: parts }];
    expect(
      await refusalOf(service().client.responses.create({ model: "default", input: output as never })),
    ).toMatchObject({ status: 400, param: "input[0].output[10].image_url" });
  });

  it("accepts 12 MiB of files but only 1 MiB of other data", async () => {
    const large = Buffer.concat([PDF, Buffer.alloc(12 * 1024 * 1024 - PDF.length, "\n")]);
    const { files } = await respond([TEXT, file({ file_data: base64(large) })]);
    expect(files[0]?.[1].length).toBe(large.length);
    const history = [{ role: "assistant", content: "x".repeat(1024 * 1024) }, ...user(TEXT)];
    expect(
      await refusalOf(service().client.responses.create({ model: "default", input: history as never })),
    ).toMatchObject({ status: 413, code: "body_too_large" });
    const tooLarge = "A".repeat(17 * 1024 * 1024);
    expect(await refusedInput(file({ file_data: tooLarge }))).toMatchObject({
      status: 413,
      type: "invalid_request_error",
    });
  });

  it("gives no access to files in another App or without the id", async () => {
    const { response } = await respond([TEXT, image()]);
    const session = response.conversation!.id.slice("conv_".length);
    const pack = (uuid: string) => Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");
    const refusal = await refusalOf(
      service().client.files.retrieve(`file-${pack(session)}${pack(randomUUID())}`),
    );
    expect(refusal).toMatchObject({ status: 404, code: "file_not_found" });
    expect(await refusalOf(service().client.files.retrieve("file-abc"))).toMatchObject({ status: 400 });
    const upload = service().client.files.create({ file: await toFile(PNG, "a.png"), purpose: "user_data" });
    expect(await refusalOf(upload)).toMatchObject({
      status: 404,
      message: expect.stringContaining("messages"),
    });
  });
});

describe("Chat Completions with files", () => {
  const url = (address: unknown = { url: IMAGE, detail: "low" }) => ({
    type: "image_url",
    image_url: address,
  });
  const text = { type: "text", text: "what is this?" };

  it("passes images, files and audio to the model", async () => {
    const parts = [
      text,
      url(),
      { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${base64(PDF)}` } },
      { type: "input_audio", input_audio: { data: base64(WAV), format: "wav" } },
    ];
    const { completion, files } = await complete(user(...parts));
    expect(completion.choices[0]?.message.content).toBe("Seen.");
    expect(files).toEqual([
      ["image/png", PNG],
      ["application/pdf", PDF],
      ["audio/wav", WAV],
    ]);
  });

  it.each([
    ["an address that is a string", url(IMAGE)],
    ["the part of Responses", image()],
    ["no detail", url({ url: IMAGE })],
  ])("accepts an image with %s", async (_what, part) => {
    expect((await complete(user(part))).files).toEqual([["image/png", PNG]]);
  });

  it("passes images of a resent history to the model", async () => {
    const messages = [
      ...user(text, url()),
      { role: "assistant", content: "A dot." },
      { role: "user", content: "which color?" },
    ];
    expect((await complete(messages)).files).toEqual([["image/png", PNG]]);
  });

  it("ignores the history of a stored conversation and its images", async () => {
    const { completion } = await complete(user(text), { store: true });
    const { metadata } = completion as unknown as { metadata: { conversation_id: string } };
    const messages = [...user(text, url()), { role: "assistant", content: "A dot." }, ...user(text)];
    expect((await complete(messages, { metadata })).files).toEqual([]);
  });

  it.each([
    [url({ url: "http://127.0.0.1/a.png" }), "messages[0].content[0].image_url.url"],
    [url({}), "messages[0].content[0].image_url.url"],
    [{ type: "file", file: { file_id: "file-1" } }, "messages[0].content[0].file.file_id"],
    [{ type: "input_audio", input_audio: { format: "wav" } }, "messages[0].content[0].input_audio.data"],
    [{ type: "video_url", video_url: { url: IMAGE } }, "messages[0].content[0].type"],
  ])("rejects %j with a 400 that names the field", async (part, param) => {
    const messages = user(part) as unknown as OpenAI.ChatCompletionMessageParam[];
    const refusal = await refusalOf(service().client.chat.completions.create({ model: "default", messages }));
    expect(refusal).toMatchObject({ status: 400, param });
  });
});

async function stateOf(session: string): Promise<Snapshot> {
  const answer = await fetch(`${service().url}/api/state`, { headers: { "X-Session-Id": session } });
  return (await answer.json()) as Snapshot;
}

describe("an output of a function with files", () => {
  const LOOK = { type: "object", properties: {} };
  const ASK = "take a picture";

  /** Lets the model call a function. Returns the call. */
  async function called() {
    const tools = [{ type: "function" as const, name: "look", parameters: LOOK, strict: false }];
    const response = await service().client.responses.create({ model: "default", input: ASK, tools });
    const [call] = response.output.filter((item) => item.type === "function_call");
    return { response, call: call! };
  }
  const outputOf = (call: { call_id: string }, ...output: readonly Part[]) =>
    [{ type: "function_call_output", call_id: call.call_id, output }] as never;

  it("passes them to the model, and stores them with the result", async () => {
    const { client } = service();
    const { response, call } = await called();
    const pdf = file({ file_data: base64(PDF) });
    const input = outputOf(call, { type: "input_text", text: "seen" }, image(), pdf);
    const more = { model: "default", previous_response_id: response.id, input };
    const answered = await client.responses.create(more);
    expect(answered.output_text).toBe("Seen.");
    expect(seen).toEqual([
      ["image/png", PNG],
      ["application/pdf", PDF],
    ]);
    expect(outputs).toEqual([{ type: "text", value: "seen" }]);
    const session = response.conversation!.id.slice("conv_".length);
    const { tool_results: [result] = [] } = (await stateOf(session)).messages[1]!;
    expect(result).toMatchObject({
      output: "seen",
      attachments: [{ media_type: "image/png" }, { media_type: "application/pdf", name: "report.pdf" }],
    });
    // A repeated request decides nothing, and stores nothing.
    expect((await client.responses.create(more)).id).toBe(answered.id);
  });

  it("accepts the id of a file of the conversation, and of no other", async () => {
    const { client } = service();
    const { response, call } = await called();
    const session = response.conversation!.id.slice("conv_".length);
    const uploadTo = async (id: string): Promise<string> => {
      const answer = await fetch(`${service().url}/api/files`, {
        method: "POST",
        headers: { "X-Session-Id": id, "Content-Type": "image/png" },
        body: PNG,
      });
      return ((await answer.json()) as { id: string }).id;
    };
    const create = (input: never) =>
      client.responses.create({ model: "default", previous_response_id: response.id, input });
    const theirs = outputOf(call, { type: "input_image", file_id: await uploadTo(randomUUID()) });
    expect(await refusalOf(create(theirs))).toMatchObject({
      status: 400,
      code: "file_not_found",
      param: "input[0].output[0].file_id",
    });
    expect((await stateOf(session)).pending_actions).toHaveLength(1);
    await create(outputOf(call, { type: "input_image", file_id: await uploadTo(session) }));
    expect(seen).toEqual([["image/png", PNG]]);
  });

  it("rejects a malformed one before the call is decided", async () => {
    const { response, call } = await called();
    const input = outputOf(call, image("data:image/png;base64,@@@"));
    const request = { model: "default", previous_response_id: response.id, input };
    expect(await refusalOf(service().client.responses.create(request))).toMatchObject({
      status: 400,
      param: "input[0].output[0].image_url",
    });
    const session = response.conversation!.id.slice("conv_".length);
    expect((await stateOf(session)).pending_actions).toHaveLength(1);
  });

  it("passes those of a resent history to the model", async () => {
    const input = [
      ...user(TEXT),
      { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "c1",
        output: [{ type: "input_text", text: "seen" }, image()],
      },
      { role: "assistant", content: "A dot." },
      { role: "user", content: "sure?" },
    ] as never;
    await service().client.responses.create({ model: "default", input });
    expect(seen).toEqual([["image/png", PNG]]);
    expect(outputs).toEqual([{ type: "text", value: "seen" }]);
  });

  it("accepts text parts and images in a tool message of Chat Completions", async () => {
    const { client } = service();
    const tools = [{ type: "function" as const, function: { name: "look", parameters: LOOK } }];
    const ask = { role: "user", content: ASK } as const;
    const first = await client.chat.completions.create({ model: "default", messages: [ask], tools });
    const { message } = first.choices[0]!;
    const content = [{ type: "text", text: "seen " }, { type: "text", text: "it" }, image()];
    const answer = { role: "tool", tool_call_id: message.tool_calls![0]!.id, content };
    const { files } = await complete([ask, message, answer], { tools });
    expect(files).toEqual([["image/png", PNG]]);
    expect(outputs).toEqual([{ type: "text", value: "seen it" }]);
  });
});

describe("items of a conversation with files", () => {
  it("are stored as finished turns, and their files are in the next turn's prompt", async () => {
    const { client } = service();
    const items = [
      ...user(image()),
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "A dot." }] },
    ] as never;
    const { id: conversation } = await client.conversations.create({ items });
    const more = user(TEXT, file({ file_data: base64(PDF) })) as never;
    const added = await client.conversations.items.create(conversation, { items: more });
    expect(added.data).toMatchObject([{ content: [{ type: "input_file" }, { type: "input_text" }] }]);
    const { files } = await respond([{ type: "input_text", text: "and?" }], { conversation });
    expect(files.map(([type]) => type)).toEqual(["image/png", "application/pdf"]);
  });
});
