// Tests of chat completions and models with the unmodified `openai` package.

import { randomUUID } from "node:crypto";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { refusalOf, useOpenAI, WEATHER } from "./openai-service.ts";

const service = useOpenAI();
const user = (content: string) => ({ role: "user" as const, content });
const TOOLS = [
  {
    type: "function" as const,
    function: { name: "get_weather", description: "Weather", parameters: WEATHER },
  },
];

async function chunksOf(stream: AsyncIterable<OpenAI.ChatCompletionChunk>) {
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

describe("the model list", () => {
  it("has the Apps that the caller may use, and their models", async () => {
    const { data } = await service().client.models.list();
    expect(data.map(({ id }) => id)).toEqual(["default", "default/test/scripted", "default/demo/assistant"]);
    expect(await service().client.models.retrieve("default/demo/assistant")).toMatchObject({
      object: "model",
    });
    expect(await refusalOf(service().client.models.retrieve("gpt-4o"))).toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });
});

describe("a chat completion", () => {
  it("passes history and system messages of the request to the model", async () => {
    const { client, model } = service();
    const answer = client.chat.completions.create({
      model: "default",
      messages: [
        { role: "system", content: "Speak like a pirate." },
        user("My name is Ada."),
        { role: "assistant", content: "Ahoy Ada." },
        { role: "user", content: [{ type: "text", text: "What is my name?" }] },
      ],
    });
    const call = await model.next();
    expect(call.prompt).toEqual([
      expect.stringMatching(/^system: [\s\S]*Speak like a pirate\.$/),
      expect.stringContaining("My name is Ada."),
      expect.stringContaining("Ahoy Ada."),
      expect.stringContaining("What is my name?"),
    ]);
    call.say("Ada.").finish();
    expect(await answer).toMatchObject({
      object: "chat.completion",
      model: "default",
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Ada." } }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
  });

  it.each([true, false])("reports an answer that the token limit cut off (stream: %s)", async (stream) => {
    const { client, model } = service();
    const body = { model: "default", max_tokens: 3, messages: [user("Count")] };
    const answer = stream
      ? client.chat.completions.stream(body).finalChatCompletion()
      : client.chat.completions.create(body);
    (await model.next()).say("1 2").finish("length");
    // With a stream, the client throws for such an answer only if it must match a schema.
    expect((await answer).choices).toMatchObject([{ finish_reason: "length", message: { content: "1 2" } }]);
  });

  it("passes sampling parameters to the model", async () => {
    const { client, model } = service();
    const messages = [user("hello")];
    const answer = client.chat.completions.create({
      model: "default",
      temperature: 0,
      top_p: 0.5,
      max_tokens: 7,
      messages,
    });
    const call = await model.next();
    expect(call.options).toMatchObject({ temperature: 0, topP: 0.5, maxOutputTokens: 7 });
    call.say("Hi.").finish();
    await answer;
    const plain = client.chat.completions.create({ model: "default", messages });
    const next = await model.next();
    for (const name of ["temperature", "topP", "maxOutputTokens"])
      expect(next.options).not.toHaveProperty(name, expect.anything());
    next.say("Hi.").finish();
    await plain;
  });

  it("streams chunks with one id, a finish reason only in the last choice, and usage on request", async () => {
    const { client, model } = service();
    const streaming = client.chat.completions.create({
      model: "default/test/scripted",
      stream: true,
      stream_options: { include_usage: true },
      messages: [user("Count")],
    });
    (await model.next()).say("1", " 2").finish();
    const chunks = await chunksOf(await streaming);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    const choices = chunks.flatMap((chunk) => chunk.choices);
    expect(choices[0]?.delta.role).toBe("assistant");
    expect(choices.map(({ delta }) => delta.content ?? "").join("")).toBe("1 2");
    expect(choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null)).toEqual([
      "stop",
    ]);
    expect(choices.at(-1)).toMatchObject({ delta: {}, finish_reason: "stop" });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 15 } });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  it.each([true, false])(
    "returns calls of client tools, and continues with their outputs (stream: %s)",
    async (stream) => {
      const { client, model } = service();
      const complete = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
        const body = { model: "default", messages, tools: TOOLS };
        if (!stream) return await client.chat.completions.create(body);
        return await client.chat.completions.stream(body).finalChatCompletion();
      };
      const asked = complete([user("What is the weather in Rome?")]);
      const first = await model.next();
      expect(first.options.tools).toContainEqual(expect.objectContaining({ name: "get_weather" }));
      first.callTool("get_weather", { location: "Rome" }).finish("tool-calls");
      const { choices } = await asked;
      expect(choices[0]?.finish_reason).toBe("tool_calls");
      const message = choices[0]!.message;
      const [call] = message.tool_calls!;
      expect(call).toMatchObject({
        type: "function",
        function: { name: "get_weather", arguments: '{"location":"Rome"}' },
      });
      const answered = complete([
        user("What is the weather in Rome?"),
        { role: "assistant", content: message.content, tool_calls: message.tool_calls! },
        { role: "tool", tool_call_id: call!.id, content: "sunny" },
      ]);
      const second = await model.next();
      expect(second.prompt.at(-1)).toContain("sunny");
      second.say("It is sunny.").finish();
      expect((await answered).choices[0]).toMatchObject({
        finish_reason: "stop",
        message: { content: "It is sunny." },
      });
    },
  );

  it("continues an existing conversation, and ignores the history in the request", async () => {
    const { client, model } = service();
    const conversation = `conv_${randomUUID()}`;
    const say = async (messages: OpenAI.ChatCompletionMessageParam[], how: "metadata" | "header") => {
      const answer = client.chat.completions.create(
        {
          model: "default",
          messages,
          ...(how === "metadata" && { metadata: { conversation_id: conversation } }),
        },
        how === "header" ? { headers: { "X-Conversation-Id": conversation } } : {},
      );
      const call = await model.next();
      call.say("yes").finish();
      await answer;
      return call.prompt.join("\n");
    };
    await say([user("The word is tulip.")], "metadata");
    const prompt = await say(
      [user("invented"), { role: "assistant", content: "lie" }, user("Which word?")],
      "header",
    );
    expect(prompt).toContain("tulip");
    expect(prompt).not.toContain("invented");
    const items = await client.conversations.items.list(conversation, { order: "asc" });
    expect(items.data.map((item) => (item.type === "message" ? item.role : item.type))).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  it("is deleted after its answer, unless `store` is true", async () => {
    const { client, model, sessions } = service();
    const before = (await sessions()).length;
    const ask = async (store: boolean) => {
      const answer = client.chat.completions.create({ model: "default", store, messages: [user("secret")] });
      (await model.next()).say("ok").finish();
      return (await answer) as unknown as { metadata?: { conversation_id: string } };
    };
    const stored = await ask(true);
    const id = stored.metadata!.conversation_id;
    expect((await client.conversations.retrieve(id)).id).toBe(id);
    expect((await ask(false)).metadata).toBeUndefined();
    expect(await sessions()).toHaveLength(before + 1);
  });

  it.each([false, true])("is deleted with an answer that failed (stream: %s)", async (stream) => {
    const { client, model, sessions } = service();
    const before = await sessions();
    const asked = client.chat.completions
      .create({ model: "default", stream, messages: [user("secret")] })
      .asResponse();
    // Without a stream, the error is the response.
    const answered = asked.then((response) => response.text()).catch(String);
    (await model.next()).finish("content-filter");
    expect(await answered).not.toContain("[DONE]");
    expect(await sessions()).toEqual(before);
  });

  it("returns JSON that matches the requested schema", async () => {
    const { client, model } = service();
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const answer = client.chat.completions.create({
      model: "default",
      messages: [user("A city")],
      response_format: { type: "json_schema", json_schema: { name: "city", schema } },
    });
    (await model.next()).say('{"city":"Rome"}').finish();
    expect((await answer).choices[0]?.message.content).toBe('{"city":"Rome"}');
  });

  it("fails with the error of the provider", async () => {
    const { client, model } = service();
    const answer = refusalOf(client.chat.completions.create({ model: "default", messages: [user("hello")] }));
    (await model.next()).finish("content-filter");
    const refusal = await answer;
    expect(refusal).toMatchObject({ status: 500, type: "server_error" });
    expect(refusal.body["request_id"]).toEqual(expect.any(String));
  });

  it.each([
    [{ temperature: 3 }, "temperature"],
    [{ top_p: "1" }, "top_p"],
    [{ max_tokens: 0 }, "max_tokens"],
    [{ stop: ["x"] }, "stop"],
    [{ constructor: 1 }, "constructor"],
    [JSON.parse('{"__proto__":{"x":1}}') as object, "__proto__"],
    [{ n: 2 }, "n"],
    [{ tools: [{ type: "custom", custom: { name: "x" } }] }, "tools[0].type"],
    [{ messages: [] }, "messages"],
    [{ messages: [{ role: "assistant", content: "hi" }] }, "messages"],
    [{ unknown_field: 1 }, "unknown_field"],
    [{ metadata: "x" }, "metadata"],
  ])("rejects %j with a 400 for the field", async (more, param) => {
    const body = {
      model: "default",
      messages: [user("hello")],
      ...more,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming;
    const refusal = await refusalOf(service().client.chat.completions.create(body));
    expect(refusal).toMatchObject({ status: 400, param, type: "invalid_request_error" });
  });

  it("fails with 404 for an unknown model", async () => {
    const refusal = await refusalOf(
      service().client.chat.completions.create({ model: "gpt-4o", messages: [user("hello")] }),
    );
    expect(refusal).toMatchObject({ status: 404, code: "model_not_found" });
    expect(refusal.message).toContain("gpt-4o");
  });
});
