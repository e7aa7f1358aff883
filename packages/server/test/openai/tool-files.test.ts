// Files that the App's tools return.

import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { withDrawing } from "../drawing-tool.ts";
import { refusalOf, useOpenAI, WEATHER } from "./openai-service.ts";

const service = useOpenAI({ adjust: withDrawing });

type Items = OpenAI.Responses.ResponseInput;
type Response = OpenAI.Responses.Response;
interface Part {
  readonly type: string;
  readonly file_id: string;
}

/** What both APIs list for the files of a result. */
const PARTS = [
  { type: "input_image", detail: "auto", file_id: expect.stringMatching(/^file-/), image_url: null },
  { type: "input_file", file_id: expect.stringMatching(/^file-/), filename: "cups.csv" },
];

/** Answers with a call of the tool, then with a text. */
async function drawIn(): Promise<void> {
  const { model } = service();
  (await model.next()).callTool("draw", {}).finish("tool-calls");
  (await model.next()).say("Drawn.").finish();
}

async function drawn(more: object = {}): Promise<Response> {
  const responding = service().client.responses.create({ model: "default", input: "draw", ...more });
  await drawIn();
  return await responding;
}

/** Returns the files of the first call in an output. */
function filesIn({ output }: Pick<Response, "output">): readonly Part[] {
  return (output[0] as unknown as { readonly files: readonly Part[] }).files;
}

const conversationOf = ({ conversation }: Response): string => conversation!.id;

async function itemsOf(conversation: string) {
  return (await service().client.conversations.items.list(conversation, { order: "asc" })).data;
}

async function expectServed([image, table]: readonly Part[]): Promise<void> {
  const { files } = service().client;
  expect(await files.retrieve(image!.file_id)).toMatchObject({
    id: image!.file_id,
    filename: "chart-0.png",
    bytes: FILES.png.length,
  });
  for (const [part, bytes] of [
    [image, FILES.png],
    [table, FILES.text],
  ] as const)
    expect(Buffer.from(await (await files.content(part!.file_id)).arrayBuffer())).toEqual(bytes);
}

describe("the files of a result", () => {
  it("are in the call of a response, the same when it is streamed, retrieved and resumed", async () => {
    const { client } = service();
    const streaming = client.responses.create({ model: "default", input: "draw", stream: true });
    await drawIn();
    const events = await Array.fromAsync(await streaming);
    const done = events.find(({ type }) => type === "response.output_item.done");
    const call = (done as OpenAI.Responses.ResponseOutputItemDoneEvent).item;
    expect(call).toMatchObject({ type: "mcp_call", name: "draw", output: '{"charts":1}', error: null });
    expect(call).toHaveProperty("files", PARTS);
    const last = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    expect(last.response.output[0]).toEqual(call);
    const { id } = last.response;
    expect((await client.responses.retrieve(id)).output[0]).toEqual(call);
    const [first] = events as unknown as { readonly sequence_number: number }[];
    const starting_after = first!.sequence_number;
    const resumed = await client.responses.retrieve(id, { stream: true, starting_after });
    expect(await Array.fromAsync(resumed)).toEqual(events.slice(1));
    await expectServed(filesIn(last.response));
  });

  it("follow the text in the output of an item", async () => {
    const response = await drawn();
    const conversation = conversationOf(response);
    const items = await itemsOf(conversation);
    expect(items.map(({ type }) => type)).toEqual([
      "message",
      "function_call",
      "function_call_output",
      "message",
    ]);
    const output = items[2]!;
    expect(output).toMatchObject({
      output: [{ type: "input_text", text: '{"charts":1}' }, ...filesIn(response)],
    });
    const { client } = service();
    const again = await client.conversations.items.retrieve(output.id!, { conversation_id: conversation });
    expect(again).toEqual(output);
  });

  it("have ids of a branch in the branch", async () => {
    const first = await drawn();
    const after = { previous_response_id: first.id };
    await drawn(after);
    const branch = await drawn(after);
    expect(conversationOf(branch)).not.toBe(conversationOf(first));
    const [, , output] = await itemsOf(conversationOf(branch));
    const { output: parts } = output as unknown as { readonly output: readonly Part[] };
    expect(parts.slice(1)).toEqual(PARTS);
    expect(parts.slice(1)).not.toEqual(filesIn(first));
    await expectServed(parts.slice(1));
    await service().client.conversations.delete(conversationOf(first));
    await expectServed(parts.slice(1));
    expect(await refusalOf(service().client.files.retrieve(filesIn(first)[0]!.file_id))).toMatchObject({
      status: 404,
    });
  });

  it("are unknown in another conversation", async () => {
    const { client } = service();
    const [first, other] = [await drawn(), await drawn()];
    const half = 22;
    const own = filesIn(other)[0]!.file_id;
    const mixed = own.slice(0, "file-".length + half) + filesIn(first)[0]!.file_id.slice(-half);
    for (const request of [client.files.retrieve(mixed), client.files.content(mixed)])
      expect(await refusalOf(request)).toMatchObject({ status: 404, code: "file_not_found" });
  });
});

describe("a history with files of results", () => {
  /** Sends items and a message. Returns the model's prompt. */
  async function promptOf(input: readonly unknown[], more: object = {}): Promise<string> {
    const { client, model } = service();
    const message = { role: "user", content: "and now?" };
    const responding = client.responses.create({
      model: "default",
      input: [...input, message] as Items,
      ...more,
    });
    const answer = async (): Promise<string> => {
      const call = await model.next();
      call.say("Fine.").finish();
      return call.prompt.join("\n");
    };
    const [prompt] = await Promise.all([answer(), responding]);
    return prompt;
  }

  it("is accepted as items and as output, in the same conversation and in a new one", async () => {
    const response = await drawn();
    const conversation = conversationOf(response);
    const items = await itemsOf(conversation);
    expect(await promptOf(items)).toContain('{"charts":1}');
    expect(await promptOf(items, { conversation })).toContain("cups.csv");
    expect(await promptOf(response.output, { previous_response_id: response.id })).toContain("cups.csv");
    const question = { role: "user", content: "draw" };
    expect(await promptOf([question, ...response.output])).toContain('{"charts":1}');
  });

  it("is accepted by conversations, which keep the text", async () => {
    const { client } = service();
    const items = await itemsOf(conversationOf(await drawn()));
    const { id } = await client.conversations.create({ items: items as Items });
    expect((await itemsOf(id))[2]).toMatchObject({ type: "function_call_output", output: '{"charts":1}' });
  });

  it("is accepted from `OpenAIConversationsSession`, which removes the ids of calls", async () => {
    const { client } = service();
    const { output } = await drawn();
    const items = output.map(({ id: _, ...item }) => item) as Items;
    const { id } = await client.conversations.create({
      items: [{ role: "user", content: "draw" }, ...items],
    });
    expect((await itemsOf(id)).slice(1)).toMatchObject([
      { type: "function_call", name: "draw" },
      { type: "function_call_output", output: '{"charts":1}' },
      { type: "message", role: "assistant" },
    ]);
    const twice = [...items.slice(0, 1), ...items.slice(0, 1)];
    await client.conversations.items.create(id, { items: twice });
    expect((await itemsOf(id)).slice(-2)).toMatchObject([
      { type: "function_call", name: "draw" },
      { type: "function_call_output", output: '{"charts":1}' },
    ]);
  });

  it("does not let a client answer a call with a file of another conversation", async () => {
    const { client, model } = service();
    const [image] = filesIn(await drawn());
    const tools = [{ type: "function" as const, name: "weather", parameters: WEATHER, strict: true }];
    const asking = client.responses.create({ model: "default", input: "weather?", tools });
    (await model.next()).callTool("weather", { location: "Rome" }).finish("tool-calls");
    const { id, output } = await asking;
    const [call] = output as OpenAI.Responses.ResponseFunctionToolCall[];
    const answer = (sent: unknown) =>
      client.responses.create({
        model: "default",
        previous_response_id: id,
        input: [{ type: "function_call_output", call_id: call!.call_id, output: sent }] as Items,
      });
    expect(await refusalOf(answer([{ type: "input_text", text: "sunny" }, image]))).toMatchObject({
      status: 400,
      code: "file_not_found",
    });
    const answered = answer("sunny");
    (await model.next()).say("Sun.").finish();
    expect((await answered).output_text).toBe("Sun.");
  });
});
