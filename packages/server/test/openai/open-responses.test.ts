// Covers the compliance cases of Open Responses (openresponses/openresponses, commit 18e5656,
// src/lib/compliance-tests.ts), with schemas from its specification. docs/protocols/openai.md lists the unsupported
// cases.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useOpenAI, WEATHER } from "./openai-service.ts";

const service = useOpenAI();

const Part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("output_text"), text: z.string(), annotations: z.array(z.unknown()) }),
  z.object({ type: z.literal("reasoning_text"), text: z.string() }),
]);
const ItemStatus = z.enum(["in_progress", "completed", "incomplete"]);
const Item = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    id: z.string(),
    status: ItemStatus,
    role: z.literal("assistant"),
    content: z.array(Part),
  }),
  z.object({
    type: z.literal("function_call"),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: ItemStatus,
  }),
]);
const Tool = z.object({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().nullable(),
});
const Usage = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int() }),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
});
const Resource = z.object({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(Item),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(Tool),
  tool_choice: z.union([
    z.enum(["none", "auto", "required"]),
    z.object({ type: z.literal("function"), name: z.string() }),
  ]),
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: z.object({ type: z.enum(["text", "json_object", "json_schema"]) }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  usage: Usage.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.unknown(),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});
type Resource = z.output<typeof Resource>;

const numbered = { sequence_number: z.int() };
const ofItem = { ...numbered, output_index: z.int() };
const ofItemId = { ...ofItem, item_id: z.string() };
const ofPart = { ...ofItemId, content_index: z.int() };
const lifecycle = <const Type extends string>(type: Type) =>
  z.object({ type: z.literal(type), ...numbered, response: Resource });
const StreamEvent = z.discriminatedUnion("type", [
  lifecycle("response.created"),
  lifecycle("response.in_progress"),
  lifecycle("response.completed"),
  lifecycle("response.failed"),
  lifecycle("response.incomplete"),
  z.object({ type: z.literal("response.output_item.added"), ...ofItem, item: Item }),
  z.object({ type: z.literal("response.output_item.done"), ...ofItem, item: Item }),
  z.object({ type: z.literal("response.content_part.added"), ...ofPart, part: Part }),
  z.object({ type: z.literal("response.content_part.done"), ...ofPart, part: Part }),
  z.object({ type: z.literal("response.output_text.delta"), ...ofPart, delta: z.string() }),
  z.object({ type: z.literal("response.output_text.done"), ...ofPart, text: z.string() }),
  z.object({ type: z.literal("response.function_call_arguments.delta"), ...ofItemId, delta: z.string() }),
  z.object({ type: z.literal("response.function_call_arguments.done"), ...ofItemId, arguments: z.string() }),
]);

const user = (content: unknown) => ({ type: "message", role: "user", content });
const TOOLS = [
  { type: "function", name: "get_weather", description: "Get the current weather", parameters: WEATHER },
];

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const PDF = Buffer.from("%PDF-1.4\ntrailer\n<<>>\n%%EOF\n").toString("base64");

const post = (body: object) =>
  fetch(`${service().url}/v1/responses`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer any" },
    body: JSON.stringify({ model: "default", ...body }),
  });

/** Sends a request. The model answers with text or with calls of the weather tool. */
async function respond(body: object, text: string | null): Promise<{ response: Resource; prompt: string }> {
  const answer = post({ ...body, stream: false });
  const call = await service().model.next();
  if (text === null) call.callTool("get_weather", { location: "San Francisco" }).finish("tool-calls");
  else call.say(text).finish();
  const sent = await answer;
  expect(sent.status).toBe(200);
  return { response: Resource.parse(await sent.json()), prompt: call.prompt.join("\n") };
}

/** Like `respond`, but returns the events of a stream. */
async function stream(body: object, text: string | null) {
  const answer = post({ ...body, stream: true });
  const call = await service().model.next();
  if (text === null) call.callTool("get_weather", { location: "San Francisco" }).finish("tool-calls");
  else call.say(...text.split(/(?<= )/)).finish();
  const sent = await answer;
  expect(sent.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const frames = (await sent.text()).split("\n\n").filter((frame) => frame !== "");
  // The last frame is the literal [DONE] (specification, "HTTP Requests").
  expect(frames.pop()).toBe("data: [DONE]");
  return frames.map((frame) => {
    const [name = "", data = ""] = frame.split("\n");
    const event = StreamEvent.parse(JSON.parse(data.slice("data: ".length)));
    // The SSE event name equals the event's `type`.
    expect(name).toBe(`event: ${event.type}`);
    return event;
  });
}

describe("a compliance case", () => {
  it("basic-response", async () => {
    const { response } = await respond({ input: [user("Say hello in exactly 3 words.")] }, "Hello to you.");
    expect(response).toMatchObject({ status: "completed", output: [{ type: "message" }] });
  });

  it("streaming-response", async () => {
    const events = await stream({ input: [user("Count from 1 to 5.")] }, "1 2 3 4 5");
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { status: "completed", output: [{ content: [{ text: "1 2 3 4 5" }] }] },
    });
  });

  it("system-prompt", async () => {
    const pirate = { type: "message", role: "system", content: "You are a pirate." };
    const { response, prompt } = await respond({ input: [pirate, user("Say hello.")] }, "Ahoy!");
    expect(prompt).toMatch(/^system: .*You are a pirate\./s);
    expect(response).toMatchObject({ status: "completed", output: [{ type: "message" }] });
  });

  it("tool-calling", async () => {
    const { response } = await respond({ input: [user("Weather?")], tools: TOOLS }, null);
    expect(response).toMatchObject({
      output: [{ type: "function_call", name: "get_weather" }],
      tools: TOOLS,
    });
  });

  it("tool-calling, streamed", async () => {
    const events = await stream({ input: [user("Weather?")], tools: TOOLS }, null);
    const types = events.map(({ type }) => type);
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });

  it.each(["previous_response_id", "input"])("function-call-roundtrip, with %s", async (how) => {
    const question = user("Use the weather tool.");
    const forced = { input: [question], tools: TOOLS, tool_choice: "required" };
    const { response: first } = await respond(forced, null);
    const [call] = first.output;
    if (call?.type !== "function_call") throw new Error("There is no call");
    const output = { type: "function_call_output", call_id: call.call_id, output: '{"temperature":18}' };
    const body =
      how === "input"
        ? { input: [question, call, output], tools: TOOLS }
        : { previous_response_id: first.id, input: [output] };
    const { response, prompt } = await respond(body, "18 degrees.");
    expect(prompt).toContain("temperature");
    expect(response).toMatchObject({ status: "completed", output: [{ type: "message" }] });
  });

  it("multi-turn", async () => {
    const input = [
      user("My name is Alice."),
      { type: "message", role: "assistant", content: "Hello Alice!" },
      user("What is my name?"),
    ];
    const { response, prompt } = await respond({ input }, "Alice.");
    expect(prompt).toMatch(/My name is Alice\.[\s\S]*Hello Alice![\s\S]*What is my name\?/);
    expect(response.status).toBe("completed");
  });

  it("previous-response-id", async () => {
    const { response: first } = await respond({ input: "Remember this code word: papaya." }, "OK");
    const body = { previous_response_id: first.id, input: "What code word?" };
    const { response, prompt } = await respond(body, "Papaya.");
    expect(prompt).toContain("papaya");
    expect(response).toMatchObject({ status: "completed", previous_response_id: first.id });
  });

  it.each([
    ["image-input", { type: "input_image", image_url: `data:image/png;base64,${PNG}` }],
    [
      "file-input",
      { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` },
    ],
  ])("%s", async (_name, file) => {
    const input = [user([{ type: "input_text", text: "What is this?" }, file])];
    const { response, prompt } = await respond({ input }, "A heart.");
    expect(prompt).toContain('"type":"file"');
    expect(response).toMatchObject({ status: "completed", output: [{ type: "message" }] });
  });
});
