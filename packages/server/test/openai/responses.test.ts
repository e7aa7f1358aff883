// Tests of responses with the unmodified `openai` package.

import { randomUUID } from "node:crypto";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { refusalOf, useOpenAI, WEATHER } from "./openai-service.ts";

type Event = OpenAI.Responses.ResponseStreamEvent;
type Response = OpenAI.Responses.Response;

const service = useOpenAI({ adjust: withApprovers });

/** Offers questions. Only approvers may decide calls of `current_time`. */
function withApprovers(config: Config): Config {
  const app = config.apps["default"]!;
  const approvers = { claim: "role", values: ["lead"] };
  const approvals = { current_time: { when: "always", approvers } } as const;
  const tools = { ...app.tools, builtIn: [...app.tools.builtIn, "ask_user"], approvals };
  return { ...config, apps: { ...config.apps, default: { ...app, tools } } };
}

const TOOLS = [
  {
    type: "function" as const,
    name: "get_weather",
    description: "Weather",
    parameters: WEATHER,
    strict: true,
  },
];

async function eventsOf(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Creates a response. The model answers with `answer`. */
async function responded(
  answer: string,
  body: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming> = {},
): Promise<Response> {
  const response = service().client.responses.create({ model: "default", input: "hello", ...body });
  (await service().model.next()).say(answer).finish();
  return await response;
}

/** Creates a response whose only output is a call of `get_weather`. */
async function called(body: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming> = {}) {
  const { client, model } = service();
  const response = client.responses.create({ model: "default", input: "weather?", tools: TOOLS, ...body });
  (await model.next()).callTool("get_weather", { location: "Rome" }).finish("tool-calls");
  const { id, output, status } = await response;
  const [call] = output;
  if (call?.type !== "function_call") throw new Error(`There is no call in ${JSON.stringify(output)}`);
  return { id, status, call, output };
}

describe("a response", () => {
  it("echoes the request's fields, and has the answer as a message", async () => {
    const response = await responded("Hi!", {
      input: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: [{ type: "input_text", text: "hello" }] },
      ],
      instructions: "Be kind.",
      metadata: { a: "b" },
    });
    expect(response).toMatchObject({
      object: "response",
      status: "completed",
      model: "default/test/scripted",
      instructions: "Be kind.",
      metadata: { a: "b" },
      output_text: "Hi!",
      output: [{ type: "message", role: "assistant", status: "completed" }],
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      error: null,
      incomplete_details: null,
    });
    expect(response.id).toMatch(/^resp_[0-9a-f-]{36}_1$/);
    expect(response.conversation?.id).toBe(`conv_${response.id.slice(5, 41)}`);
    expect(await service().client.responses.retrieve(response.id)).toEqual(response);
  });

  it("passes instructions and system messages to the model, after the App's instructions", async () => {
    const { client, model } = service();
    const response = client.responses.create({ model: "default", input: "hello", instructions: "Be kind." });
    const call = await model.next();
    expect(call.prompt[0]).toMatch(/^system: .*Those above take precedence:\nBe kind\.$/s);
    call.say("Hi").finish();
    await response;
  });

  it("passes the history in the request to the model", async () => {
    const { client, model } = service();
    const response = client.responses.create({
      model: "default",
      input: [
        { role: "user", content: "My name is Ada." },
        { role: "assistant", content: "Hello Ada." },
        { type: "function_call", call_id: "c1", name: "look", arguments: '{"at":"sky"}' },
        { type: "function_call_output", call_id: "c1", output: "blue" },
        { role: "user", content: "What is my name?" },
      ],
    });
    const call = await model.next();
    expect(call.options.prompt.map(({ role }) => role)).toEqual(
      ["system", "user", "assistant", "tool", "user"].slice(
        call.options.prompt[0]?.role === "system" ? 0 : 1,
      ),
    );
    expect(call.prompt.join()).toMatch(/Ada[\s\S]*sky[\s\S]*blue[\s\S]*What is my name/);
    call.say("Ada").finish();
    expect((await response).output_text).toBe("Ada");
  });

  it("continues the conversation of `previous_response_id`", async () => {
    const first = await responded("Tulip.");
    const { client, model } = service();
    const next = client.responses.create({ model: "default", input: "And?", previous_response_id: first.id });
    const call = await model.next();
    expect(call.prompt.join()).toContain("Tulip.");
    call.say("Rose.").finish();
    const second = await next;
    expect(second).toMatchObject({ previous_response_id: first.id, conversation: first.conversation });
    expect(await client.responses.retrieve(first.id)).toEqual(first);
  });

  describe("after an earlier response", () => {
    const branch = (previous_response_id: string, key: string | null = null) =>
      service().client.responses.create(
        { model: "default", input: "Or?", previous_response_id },
        key === null ? {} : { headers: { "Idempotency-Key": key } },
      );

    /** Creates two responses of one conversation. */
    async function givenTwo() {
      const first = await responded("Tulip.");
      return { first, second: await responded("Rose.", { previous_response_id: first.id }) };
    }

    it("continues in a copy of the conversation up to that response", async () => {
      const { first, second } = await givenTwo();
      const next = branch(first.id);
      const call = await service().model.next();
      expect(call.prompt.join()).toContain("Tulip.");
      expect(call.prompt.join()).not.toContain("Rose.");
      call.say("Lily.").finish();
      const third = await next;
      expect(third).toMatchObject({ previous_response_id: first.id, output_text: "Lily." });
      expect(third.conversation).not.toEqual(first.conversation);
      expect((await responded("Iris.", { previous_response_id: third.id })).conversation).toEqual(
        third.conversation,
      );
      expect(await service().client.responses.retrieve(second.id)).toEqual(second);
    });

    it("creates one copy for repeated requests with the same Idempotency-Key", async () => {
      const { first } = await givenTwo();
      const key = randomUUID();
      const next = branch(first.id, key);
      (await service().model.next()).say("Lily.").finish();
      const third = await next;
      const before = await service().sessions();
      expect(await branch(first.id, key)).toEqual(third);
      expect(await service().sessions()).toEqual(before);
    });

    it("creates no copy for a repeat of a request that was first sent after the last response", async () => {
      const first = await responded("Tulip.");
      const key = randomUUID();
      const next = branch(first.id, key);
      (await service().model.next()).say("Lily.").finish();
      expect(await branch(first.id, key)).toEqual(await next);
    });

    it("streams the answer in the copy", async () => {
      const { first } = await givenTwo();
      const { client, model } = service();
      const body = { model: "default", input: "Or?", previous_response_id: first.id, stream: true } as const;
      const stream = await client.responses.create(body);
      (await model.next()).say("Lily.").finish();
      const last = (await eventsOf(stream)).at(-1);
      if (last?.type !== "response.completed") throw new Error(`The stream ended with ${last?.type}`);
      expect(last.response.conversation).not.toEqual(first.conversation);
      expect(await client.responses.retrieve(last.response.id)).toMatchObject({ output_text: "Lily." });
    });

    it.each([
      ["without keys", () => null],
      ["with keys", () => randomUUID()],
    ])("uses a separate conversation for each of several parallel requests %s", async (_keys, keyOf) => {
      const first = await responded("Tulip.");
      const keys = [keyOf(), keyOf(), keyOf()];
      const branches = keys.map((key) => branch(first.id, key));
      for (const _ of branches) {
        const call = await service().model.next();
        expect(call.prompt.filter((message) => message.includes("Or?"))).toHaveLength(1);
        expect(call.prompt.join()).toContain("Tulip.");
        call.say("Lily.").finish();
      }
      const responses = await Promise.all(branches);
      const conversations = responses.map(({ conversation }) => conversation?.id);
      expect(new Set(conversations).size).toBe(3);
      expect(conversations.filter((id) => id === first.conversation?.id)).toHaveLength(1);
      expect(responses.map(({ id }) => id)).toEqual(responses.map(() => expect.stringMatching(/_2$/)));
      for (const [index, key] of keys.entries())
        if (key !== null) expect(await branch(first.id, key)).toEqual(responses[index]);
    });

    it.each([
      ["a field", { tools: [{ type: "web_search" }] }, "unsupported_parameter"],
      ["the model", { model: "default/test/other" }, undefined],
      [
        "a file",
        {
          input: [
            { role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,aGk=" }] },
          ],
        },
        "file_type_unsupported",
      ],
    ])("removes the copy if %s is rejected", async (_what, body, code) => {
      const { first } = await givenTwo();
      const before = await service().sessions();
      for (const headers of [{}, { "Idempotency-Key": randomUUID() }]) {
        const request = { model: "default", input: "Or?", previous_response_id: first.id, ...body } as never;
        const refusal = await refusalOf(service().client.responses.create(request, { headers }));
        expect(refusal).toMatchObject({ status: 400, ...(code !== undefined && { code }) });
      }
      expect(await service().sessions()).toEqual(before);
    });

    it("is rejected while that response is in progress", async () => {
      const first = service().client.responses.create({ model: "default", input: "hello", background: true });
      const call = await service().model.next();
      const { id } = await first;
      expect(await refusalOf(branch(id))).toMatchObject({ status: 409, code: "response_not_ended" });
      call.say("Tulip.").finish();
    });
  });

  it("is the same for a retry with the same Idempotency-Key", async () => {
    const { client, model } = service();
    const body = { model: "default", conversation: `conv_${randomUUID()}`, input: "hello" };
    const headers = { "Idempotency-Key": randomUUID() };
    const first = client.responses.create(body, { headers });
    (await model.next()).say("Hi").finish();
    expect(await client.responses.create(body, { headers })).toEqual(await first);
    expect(
      await refusalOf(client.responses.create(body, { headers: { "Idempotency-Key": "k".repeat(256) } })),
    ).toMatchObject({ status: 400, code: "idempotency_key_invalid" });
  });

  it("returns 404 if it does not exist", async () => {
    const { client } = service();
    const id = `resp_${randomUUID()}_1`;
    expect(await refusalOf(client.responses.retrieve(id))).toMatchObject({ status: 404 });
    const body = { model: "default", input: "hi", previous_response_id: id };
    expect(await refusalOf(client.responses.create(body))).toMatchObject({ status: 404 });
    const { id: known } = await responded("Hi");
    expect(await refusalOf(client.responses.retrieve(`${known}_1`))).toMatchObject({
      status: 404,
      code: "response_not_found",
    });
    expect(await refusalOf(client.responses.retrieve("resp_abc"))).toMatchObject({
      status: 400,
      param: "id",
    });
  });

  it("lists its input items", async () => {
    const { id } = await responded("Hi", { input: "hello there" });
    const { data } = await service().client.responses.inputItems.list(id);
    expect(data).toMatchObject([{ role: "user", content: [{ type: "input_text", text: "hello there" }] }]);
  });

  it("can be deleted if it is the only one of its conversation", async () => {
    const { client } = service();
    const { id } = await responded("Hi");
    await client.responses.delete(id);
    expect(await refusalOf(client.responses.retrieve(id))).toMatchObject({ status: 404 });
    const first = await responded("Hi");
    await responded("Hi", { previous_response_id: first.id });
    expect(await refusalOf(client.responses.delete(first.id))).toMatchObject({ status: 409 });
  });

  it("is deleted at its end with `store: false`, also after calls", async () => {
    const before = await service().sessions();
    await responded("Hi", { store: false });
    const { call } = await called({ store: false });
    expect((await service().sessions()).length).toBe(before.length + 1);
    await responded("Sunny.", {
      store: false,
      input: [
        { role: "user", content: "weather?" },
        call,
        { type: "function_call_output", call_id: call.call_id, output: "sunny" },
      ],
    });
    expect((await service().sessions()).length).toBe(before.length);
  });

  it("returns JSON that matches the requested schema", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const text = { format: { type: "json_schema" as const, name: "city", schema } };
    const response = await responded('{"city":"Rome"}', { text });
    expect(response.output_text).toBe('{"city":"Rome"}');
    expect(response.text).toMatchObject(text);
  });

  it("has the status `failed` if its turn failed", async () => {
    const { client, model } = service();
    const response = client.responses.create({ model: "default", input: "hello" });
    (await model.next()).finish("content-filter");
    expect(await response).toMatchObject({
      status: "failed",
      error: { code: "model_refused", message: expect.stringMatching(/\.$/) },
    });
  });

  it("is incomplete if the token limit cut it off", async () => {
    const { client, model } = service();
    const stream = await client.responses.create({ model: "default", input: "hello", stream: true });
    (await model.next()).say("1 2").finish("length");
    const last = (await eventsOf(stream)).at(-1);
    if (last?.type !== "response.incomplete") throw new Error(`The stream ended with ${last?.type}`);
    expect(last.response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      completed_at: null,
    });
    expect(await client.responses.retrieve(last.response.id)).toMatchObject({
      ...last.response,
      output_text: "1 2",
    });
  });

  it("includes the model's reasoning", async () => {
    const { client, model } = service();
    const response = client.responses.create({ model: "default", input: "hello" });
    (await model.next())
      .emit(
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "Hm." },
        { type: "reasoning-end", id: "r" },
      )
      .say("Yes")
      .finish();
    expect((await response).output).toMatchObject([
      { type: "message" },
      { type: "reasoning", content: [{ type: "reasoning_text", text: "Hm." }] },
    ]);
  });

  it("passes sampling parameters to the model, and echoes them", async () => {
    const { client, model } = service();
    const sampling = { temperature: 0.2, top_p: 0.9, max_output_tokens: 100 };
    const response = client.responses.create({ model: "default", input: "hello", ...sampling });
    const call = await model.next();
    expect(call.options).toMatchObject({ temperature: 0.2, topP: 0.9, maxOutputTokens: 100 });
    call.say("Hi.").finish();
    expect(await response).toMatchObject(sampling);
  });

  it.each([
    ["required" as const, { type: "required" }],
    [
      { type: "function" as const, name: "get_weather" },
      { type: "tool", toolName: "get_weather" },
    ],
  ])("forces a call in the first step only: %j", async (choice, sent) => {
    const { client, model } = service();
    const request = { model: "default", tools: TOOLS, tool_choice: choice };
    const response = client.responses.create({ ...request, input: "hello" });
    const first = await model.next();
    expect(first.options.toolChoice).toEqual(sent);
    first.callTool("get_weather", { location: "Rome" }).finish("tool-calls");
    const { id, output, tool_choice: echoed } = await response;
    expect(echoed).toEqual(choice);
    const [call] = output;
    if (call?.type !== "function_call") throw new Error("There is no call");
    const input = [{ type: "function_call_output" as const, call_id: call.call_id, output: "18" }];
    const rest = client.responses.create({ ...request, previous_response_id: id, input });
    const second = await model.next();
    expect(second.options.toolChoice).toEqual({ type: "auto" });
    second.say("18 degrees.").finish();
    expect((await rest).output_text).toBe("18 degrees.");
  });

  it("forbids calls with the tool_choice none", async () => {
    const { client, model } = service();
    const request = { model: "default", tools: TOOLS, tool_choice: "none" as const, input: "hello" };
    const response = client.responses.create(request);
    const call = await model.next();
    expect(call.options.toolChoice).toEqual({ type: "none" });
    call.say("Hi.").finish();
    expect(await response).toMatchObject({ output_text: "Hi.", tool_choice: "none" });
  });

  it.each([
    [{ temperature: -1 }, "temperature"],
    [{ max_output_tokens: 1.5 }, "max_output_tokens"],
    [{ tools: [{ type: "web_search" }] }, "tools[0].type"],
    [{ tool_choice: { type: "function", name: "unknown" } }, "tool_choice"],
    [{ tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } }, "tool_choice"],
    [{ reasoning: { effort: "high" } }, "reasoning"],
    [{ include: ["file_search_call.results"] }, "include"],
    [
      { input: [{ role: "user", content: [{ type: "input_video", video_url: "data:," }] }] },
      "input[0].content[0].type",
    ],
    [{ input: [{ type: "function_call_output", call_id: "call_unknown", output: "x" }] }, "input"],
    [{ input: [] }, "input"],
    [{ conversation: "conv_1" }, "conversation"],
    [{ store: false, background: true }, "background"],
    [{ prompt: { id: "p" } }, "prompt"],
    [{ stream: "yes" }, "stream"],
  ])("rejects %j with a 400 for the field", async (more, param) => {
    const body = {
      model: "default",
      input: "hi",
      ...more,
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    expect(await refusalOf(service().client.responses.create(body))).toMatchObject({ status: 400, param });
  });
});

describe("calls of client tools", () => {
  it("end a response; their outputs start the next response in the same turn", async () => {
    const { client, model } = service();
    const { id, status, call, output } = await called();
    expect(status).toBe("completed");
    expect(call).toMatchObject({
      name: "get_weather",
      arguments: '{"location":"Rome"}',
      status: "completed",
    });
    const answer = { type: "function_call_output" as const, call_id: call.call_id, output: "sunny" };
    const next = client.responses.create({ model: "default", previous_response_id: id, input: [answer] });
    const second = await model.next();
    expect(second.prompt.at(-1)).toContain("sunny");
    second.say("It is sunny.").finish();
    const response = await next;
    expect(response).toMatchObject({ output_text: "It is sunny.", id: `${id}_1`, previous_response_id: id });
    // The first response is unchanged, and sending the output again has no effect.
    expect((await client.responses.retrieve(id)).output).toEqual(output);
    const again = await client.responses.create({
      model: "default",
      previous_response_id: id,
      input: [answer],
    });
    expect(again).toEqual(response);
  });

  it("must all be answered", async () => {
    const { client, model } = service();
    const asked = client.responses.create({ model: "default", input: "weather?", tools: TOOLS });
    (await model.next())
      .callTool("get_weather", { location: "Rome" })
      .callTool("get_weather", { location: "Oslo" })
      .finish("tool-calls");
    const { id, output } = await asked;
    const outputs = output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "sunny" }]
        : [],
    );
    expect(outputs).toHaveLength(2);
    const body = { model: "default", previous_response_id: id };
    expect(await refusalOf(client.responses.create({ ...body, input: outputs.slice(1) }))).toMatchObject({
      status: 400,
      param: "input",
    });
    const next = client.responses.create({ ...body, input: outputs });
    (await model.next()).say("Sunny.").finish();
    expect((await next).output_text).toBe("Sunny.");
  });

  it("may be sent again, each with its output and items between them", async () => {
    const { client, model } = service();
    const asked = client.responses.create({ model: "default", input: "weather?", tools: TOOLS });
    (await model.next())
      .say("Let me look.")
      .callTool("get_weather", { location: "Rome" })
      .callTool("get_weather", { location: "Oslo" })
      .finish("tool-calls");
    const first = await asked;
    const outputs = new Map([
      ["Rome", "sunny"],
      ["Oslo", "snow"],
    ]);
    const pairs = first.output.flatMap((item): OpenAI.Responses.ResponseInputItem[] => {
      if (item.type !== "function_call") return [item as OpenAI.Responses.ResponseInputItem];
      const { location } = JSON.parse(item.arguments) as { location: string };
      const output = outputs.get(location)!;
      const reasoning = { type: "reasoning" as const, id: `rs_${location}`, summary: [] };
      return [reasoning, item, { type: "function_call_output" as const, call_id: item.call_id, output }];
    });
    const input = [{ role: "user" as const, content: "weather?" }, ...pairs];
    const next = client.responses.create({ model: "default", input });
    const second = await model.next();
    expect(second.prompt.at(-1)).toMatch(/sunny.*snow/);
    second.callTool("get_weather", { location: "Bern" }).finish("tool-calls");
    const third = await next;
    const [call] = third.output.filter((item) => item.type === "function_call");
    const output = { type: "function_call_output" as const, call_id: call!.call_id, output: "fog" };
    // Without `previous_response_id`, clients send all outputs of the turn again.
    const last = client.responses.create({ model: "default", input: [...input, call!, output] });
    (await model.next()).say("Cold.").finish();
    expect(await last).toMatchObject({ output_text: "Cold.", previous_response_id: third.id });
  });

  it("may be answered together with another message", async () => {
    const { client, model } = service();
    const { id, call } = await called();
    const output = { type: "function_call_output" as const, call_id: call.call_id, output: "sunny" };
    const body = {
      model: "default",
      previous_response_id: id,
      input: [call, output, { role: "user" as const, content: "In one word?" }],
    };
    const headers = { "Idempotency-Key": randomUUID() };
    const next = client.responses.create(body, { headers });
    (await model.next()).say("It is sunny.").finish();
    const second = await model.next();
    expect(second.prompt.slice(-3).join()).toMatch(/sunny.*It is sunny\..*In one word\?/);
    second.say("Sun.").finish();
    const response = await next;
    expect(response.output_text).toBe("Sun.");
    expect(await client.responses.create(body, { headers })).toEqual(response);
  });

  it.each([[[]], [[{ role: "user" as const, content: "In one word?" }]]])(
    "must all be answered, also before %j",
    async (more) => {
      const { client, model } = service();
      const asked = client.responses.create({ model: "default", input: "weather?", tools: TOOLS });
      (await model.next())
        .callTool("get_weather", { location: "Rome" })
        .callTool("get_weather", { location: "Oslo" })
        .finish("tool-calls");
      const { id, output } = await asked;
      const [call] = output.filter((item) => item.type === "function_call");
      const answer = { type: "function_call_output" as const, call_id: call!.call_id, output: "sunny" };
      const body = { model: "default", previous_response_id: id, input: [answer, ...more] };
      expect(await refusalOf(client.responses.create(body))).toMatchObject({ status: 400, param: "input" });
    },
  );

  it.each([
    ["that the service did not make", () => ["call_abc"]],
    ["of a deleted conversation", (deleted: string) => [deleted]],
    ["of several conversations", (deleted: string, other: string) => [deleted, other]],
  ])("are rejected with 400 if they have ids %s", async (_which, idsOf) => {
    const { client } = service();
    const [deleted, other] = [await called(), await called()];
    await client.responses.delete(deleted.id);
    const ids = idsOf(deleted.call.call_id, other.call.call_id);
    const input = ids.map((id) => ({ type: "function_call_output" as const, call_id: id, output: "x" }));
    const refusal = await refusalOf(client.responses.create({ model: "default", input }));
    expect(refusal).toMatchObject({ status: 400, param: "input", message: expect.stringMatching(/call_id/) });
  });

  it("are all pending after an answer that one of them cannot have", async () => {
    const { client, model } = service();
    const asked = client.responses.create({ model: "default", input: "weather?", tools: TOOLS });
    (await model.next())
      .callTool("get_weather", { location: "Rome" })
      .callTool("ask_user", { question: "Where?", choices: ["Rome", "Oslo"] })
      .finish("tool-calls");
    const { id, output } = await asked;
    const calls = output.filter((item) => item.type === "function_call");
    const answer = (where: string) =>
      ["sunny", where].map((text, index) => ({
        type: "function_call_output" as const,
        call_id: calls[index]!.call_id,
        output: text,
      }));
    const body = { model: "default", previous_response_id: id };
    const refused = client.responses.create({ ...body, input: answer("x".repeat(5_000)) });
    expect(await refusalOf(refused)).toMatchObject({
      status: 400,
      param: "input",
      message: expect.stringContaining("4,096 characters"),
    });
    // The first call has no output yet.
    const next = client.responses.create({
      ...body,
      input: answer("Rome").map((item, index) => (index === 0 ? { ...item, output: "fog" } : item)),
    });
    const second = await model.next();
    expect(second.prompt.at(-1)).toContain("fog");
    second.say("Fog in Rome.").finish();
    expect((await next).output_text).toBe("Fog in Rome.");
  });

  it("may have any text as output", async () => {
    const { client, model } = service();
    for (const text of ["[".repeat(5_000) + "]".repeat(5_000), '{"id":12345678901234567890}', '"\\u0000"']) {
      const { id, call } = await called();
      const answer = { type: "function_call_output" as const, call_id: call.call_id, output: text };
      const next = client.responses.create({ model: "default", previous_response_id: id, input: [answer] });
      const second = await model.next();
      expect(second.prompt.at(-1)).toContain(JSON.stringify(text).slice(1, -1).slice(0, 100));
      second.say("Thanks.").finish();
      expect((await next).output_text).toBe("Thanks.");
    }
  });

  it("need no decision of a call that only approvers may decide", async () => {
    const { client, model } = service();
    const asked = client.responses.create({ model: "default", input: "weather?", tools: TOOLS });
    (await model.next())
      .callTool("get_weather", { location: "Rome" })
      .callTool("current_time", {})
      .finish("tool-calls");
    const { id, output } = await asked;
    expect(output.map(({ type }) => type)).toEqual(["function_call", "mcp_approval_request"]);
    const [call] = output;
    const answer = {
      type: "function_call_output" as const,
      call_id: call?.type === "function_call" ? call.call_id : "",
      output: "sunny",
    };
    const body = { model: "default", previous_response_id: id, input: [answer] };
    const waiting = await client.responses.create(body);
    expect(waiting.status).toBe("in_progress");
    expect(await client.responses.cancel(waiting.id)).toMatchObject({ status: "cancelled" });
  });

  it("are streamed with their arguments", async () => {
    const { client, model } = service();
    const streaming = client.responses.create({
      model: "default",
      input: "weather?",
      tools: TOOLS,
      stream: true,
    });
    (await model.next()).callTool("get_weather", { location: "Rome" }).finish("tool-calls");
    const events = await eventsOf(await streaming);
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });
});

describe("approvals", () => {
  it.each([true, false])(
    "are requested in a response and decided in the next one (approve: %s)",
    async (approve) => {
      const { client } = service();
      const asked = await client.responses.create({ model: "default/demo/assistant", input: "order tea" });
      const [request] = asked.output;
      if (request?.type !== "mcp_approval_request") throw new Error("There is no request");
      expect(asked.status).toBe("completed");
      expect(request).toMatchObject({ name: "order_tea", arguments: '{"cups":1}' });
      const response = await client.responses.create({
        model: "default/demo/assistant",
        previous_response_id: asked.id,
        input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve }],
      });
      expect(response.output[0]).toMatchObject({
        type: "mcp_call",
        name: "order_tea",
        status: approve ? "completed" : "failed",
      });
      expect(response.output[1]).toMatchObject({ type: "message" });
      expect((await client.responses.retrieve(asked.id)).output).toEqual(asked.output);
    },
  );
});

describe("the events of a response", () => {
  const streamed = async (texts: readonly string[], more: object = {}) => {
    const { client, model } = service();
    const streaming = client.responses.create({ model: "default", input: "count", stream: true, ...more });
    const call = await model.next();
    const stream = await streaming;
    const iterator = stream[Symbol.asyncIterator]();
    const events: Event[] = [];
    for (const text of texts) {
      call.say(text);
      // One delta for each text.
      for (let event; event?.type !== "response.output_text.delta"; ) {
        const { value } = await iterator.next();
        event = value as Event;
        events.push(event);
      }
    }
    call.finish();
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
      events.push(next.value);
    return events;
  };

  it("have the order of the specification, ascending sequence numbers, and the final response", async () => {
    const events = await streamed(["one", " two"]);
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const numbers = events.map((event) => event.sequence_number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
    const last = events.at(-1);
    if (last?.type !== "response.completed") throw new Error("The stream did not complete");
    expect(await service().client.responses.retrieve(last.response.id)).toMatchObject(last.response);
    for (const event of events)
      if ("item_id" in event) expect(event.item_id).toBe(last.response.output[0]?.id);
  });

  it("are the same when resumed after any sequence number, except for the boundaries of text deltas", async () => {
    const events = await streamed(["one", " two", " three"]);
    const { id } = (events[0] as OpenAI.Responses.ResponseCreatedEvent).response;
    for (const [index, { sequence_number: after }] of events.entries()) {
      const rest = await eventsOf(
        await service().client.responses.retrieve(id, { stream: true, starting_after: after }),
      );
      const textOf = (list: readonly Event[]) =>
        list.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
      const expected = events.slice(index + 1);
      expect(textOf(rest)).toBe(textOf(expected));
      const others = (list: readonly Event[]) =>
        list.filter(({ type }) => type !== "response.output_text.delta");
      expect(others(rest)).toEqual(others(expected));
    }
  });

  it("end with an error if the sequence number belongs to another text", async () => {
    const one = await streamed(["one two"]);
    const other = await streamed(["six two"]);
    const { id } = (one[0] as OpenAI.Responses.ResponseCreatedEvent).response;
    const after = other.find(({ type }) => type === "response.output_text.delta")!.sequence_number;
    const resumed = service().client.responses.retrieve(id, { stream: true, starting_after: after });
    await expect(resumed.then(eventsOf)).rejects.toThrow(/run again/);
  });

  it("contain the text of a response with a schema only after its validation", async () => {
    const { client, model } = service();
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const text = { format: { type: "json_schema" as const, name: "city", schema } };
    const streaming = client.responses.create({ model: "default", input: "city", stream: true, text });
    const rejected = await model.next();
    const stream = await streaming;
    const iterator = stream[Symbol.asyncIterator]();
    const { value: created } = await iterator.next();
    if (created?.type !== "response.created") throw new Error("The stream did not begin");
    rejected.say('{"town":');
    const conversation = created.response.conversation!.id;
    // The text is stored, so an unbuffered stream would have sent it.
    await expect
      .poll(async () => JSON.stringify((await client.conversations.items.list(conversation)).data))
      .toContain("town");
    rejected.say("1}").finish();
    (await model.next()).say('{"city":"Rome"}').finish();
    const events: Event[] = [];
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
      events.push(next.value);
    expect(
      events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : [])),
    ).toEqual(['{"city":"Rome"}']);
  });

  it("are streamed from the start to a client that connects during the answer", async () => {
    const { client, model } = service();
    const { id, status } = await client.responses.create({ model: "default", input: "hi", background: true });
    expect(["queued", "in_progress"]).toContain(status);
    const call = await model.next();
    const stream = await client.responses.retrieve(id, { stream: true });
    call.say("Hi").finish();
    const events = await eventsOf(stream);
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { id, status: "completed" },
    });
    expect(await client.responses.retrieve(id)).toMatchObject({ status: "completed", output_text: "Hi" });
  });
});

describe("a background response", () => {
  it("ends its stream when it is cancelled", async () => {
    const { client, model } = service();
    const { id } = await client.responses.create({ model: "default", input: "hi", background: true });
    const call = await model.next();
    const stream = await client.responses.retrieve(id, { stream: true });
    call.say("Half");
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: "cancelled" });
    expect((await eventsOf(stream)).at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { status: "cancelled" },
    });
    expect(await client.responses.retrieve(id)).toMatchObject({ status: "cancelled" });
  });
});
