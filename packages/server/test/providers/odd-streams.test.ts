// Malformed provider streams in complete conversations: effects on the user, the log and the next message.

import { afterEach, describe, expect, it } from "vitest";
import { answerJson, type ProviderServer, writeEvents } from "../provider-server.ts";
import { PROTOCOLS } from "./protocols.ts";
import { newSession, SECRET_KEY, startProviderService, type ProviderService } from "./provider-service.ts";

const IDLE = (snapshot: { readonly is_processing: boolean | null }): boolean =>
  snapshot.is_processing === false;

let service: ProviderService;
afterEach(() => service.stop());

/** Sends the responses in order and repeats the last one. */
function answerWith(...answers: readonly ProviderServer["answer"][]): void {
  let next = 0;
  service.provider.answer = (response, request) => {
    const answer = answers[Math.min(next, answers.length - 1)];
    next += 1;
    answer?.(response, request);
  };
}

function chunk(delta: object, finish: string | null = null): object {
  return { choices: [{ index: 0, delta, finish_reason: finish }] };
}

const textResponse =
  (text: string): ProviderServer["answer"] =>
  (response) => {
    writeEvents(response, [
      [null, chunk({ content: text })],
      [null, chunk({}, "stop")],
    ]);
    response.end();
  };

const rawResponse =
  (text: string): ProviderServer["answer"] =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(text);
  };

/** Sends a message and advances the clock past all retries. */
async function chatUntilIdle(session: string, message: string, more: object = {}) {
  const asked = service.provider.requests.length;
  await service.chat(session, message, undefined, more);
  let snapshot = await service.state(session);
  // The first call imports the provider's package. Until its request, no time passes.
  while (!IDLE(snapshot) && service.provider.requests.length === asked)
    snapshot = await service.state(session);
  for (let tries = 0; !IDLE(snapshot) && tries < 100; tries += 1) {
    await service.pass(1_000);
    snapshot = await service.state(session);
  }
  return snapshot;
}

describe.each(PROTOCOLS.map((protocol) => [protocol.rig, protocol] as const))("%s", (rig, protocol) => {
  it("completes an answer whose connection stays open, and closes the connection", async () => {
    service = await startProviderService(rig);
    service.provider.answer = (response) => writeEvents(response, protocol.answer([{ deltas: ["Hello"] }]));
    const snapshot = await chatUntilIdle(newSession(), "Hi");
    expect(snapshot.messages[1]).toMatchObject({ content: "Hello", status: "complete" });
    await service.provider.requests[0]?.closed;
  });

  it("keeps the text before a broken connection, does not retry, and answers the next message", async () => {
    service = await startProviderService(rig);
    const session = newSession();
    answerWith(
      (response) => {
        writeEvents(response, protocol.beginning("Half an answer"));
        response.end();
      },
      (response) => {
        writeEvents(response, protocol.answer([{ deltas: ["Whole."] }]));
        response.end();
      },
    );
    const failed = await chatUntilIdle(session, "Hi");
    expect(failed.messages[1]).toMatchObject({ content: "Half an answer", status: "failed" });
    expect(service.provider.requests).toHaveLength(1);
    expect((await chatUntilIdle(session, "Again")).messages[3]).toMatchObject({ content: "Whole." });
  });
});

describe("an openai-compatible server", () => {
  const rig = "local/llama3.2";

  it("is retried after a chunk that is not JSON, if no text has streamed", async () => {
    service = await startProviderService(rig);
    answerWith(rawResponse("data: {broken\n\n"), textResponse("Hello"));
    expect((await chatUntilIdle(newSession(), "Hi")).messages[1]).toMatchObject({
      content: "Hello",
      status: "complete",
    });
    expect(service.provider.requests).toHaveLength(2);
  });

  it("is not retried if its model rejects tools, and the notice and the log state the reason", async () => {
    service = await startProviderService(rig);
    const message = "registry.ollama.ai/library/gemma:2b does not support tools";
    service.provider.answer = answerJson(400, { error: { message, type: "api_error", code: null } });
    const snapshot = await chatUntilIdle(newSession(), "Hi");
    expect(service.provider.requests).toHaveLength(1);
    expect(JSON.stringify(snapshot)).toContain("set `tools` of its provider to false");
    expect(await service.logged()).toContain(message);
  });

  it("receives no tools with `tools: false`, and earlier calls as text", async () => {
    service = await startProviderService(rig, { models: [rig, "demo/assistant"] }, { tools: false });
    const session = newSession();
    await service.chat(session, 'call calculator {"expression":"1+1"}', "wait", { rig: "demo/assistant" });
    service.provider.answer = textResponse("Two.");
    expect((await service.chat(session, "Sure?", "wait", { rig })).messages[3]?.content).toBe("Two.");
    const body = service.provider.requests[0]?.body ?? {};
    expect(body).not.toHaveProperty("tools");
    expect(body).not.toHaveProperty("tool_choice");
    expect(JSON.stringify(body["messages"])).toMatch(/I called the tool calculator/);
  });

  it("has its in-stream error logged without keys and conversation text", async () => {
    service = await startProviderService(rig);
    const session = newSession();
    const send = (message: string): ProviderServer["answer"] =>
      rawResponse(
        `data: ${JSON.stringify(chunk({ content: "The vault opens at midnight." }))}\n\n` +
          `data: ${JSON.stringify({ error: { message, type: "server_error" } })}\n\ndata: [DONE]\n\n`,
      );
    answerWith(
      send(`Worker 7 lost its GPU, key ${SECRET_KEY}`),
      send('Blocked "vault opens at midnight"'),
      send("Cannot answer: When does the vault open?"),
    );
    for (const message of ["Hello", "Hello again", "When does the vault open?"]) {
      const failed = await chatUntilIdle(session, message);
      expect(failed.messages.at(-1)).toMatchObject({
        content: "The vault opens at midnight.",
        status: "failed",
      });
    }
    const log = await service.logged();
    expect(log).toContain("reported: Worker 7 lost its GPU, key [redacted], server_error");
    expect(log).toContain("reported: [repeats the request], server_error");
    expect(log).not.toContain("opens at midnight");
    expect(log).not.toContain("When does the vault");
    expect(log).not.toContain(SECRET_KEY);
  });

  it("is logged if it ends a response without a finish reason", async () => {
    service = await startProviderService(rig);
    service.provider.answer = rawResponse(
      `data: ${JSON.stringify(chunk({ content: "Hello" }))}\n\ndata: [DONE]\n\n`,
    );
    expect((await chatUntilIdle(newSession(), "Hi")).messages[1]).toMatchObject({ status: "complete" });
    expect(await service.logged()).toMatch(
      /"rig":"local\/llama3.2","msg":"the provider ended an answer without/,
    );
  });

  it("is retried after `timeoutMs` without a chunk", async () => {
    service = await startProviderService(rig, {}, { timeoutMs: 5_000 });
    answerWith((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": keep-alive\n\n");
    }, textResponse("Hello"));
    expect((await chatUntilIdle(newSession(), "Hi")).messages[1]).toMatchObject({ content: "Hello" });
    expect(service.provider.requests).toHaveLength(2);
  });

  it("receives no reasoning with `replayReasoning: false`", async () => {
    service = await startProviderService(rig, {}, { replayReasoning: false });
    answerWith((response) => {
      const call = { name: "calculator", arguments: '{"expression":"1+1"}' };
      writeEvents(response, [
        [null, chunk({ reasoning_content: "I add." })],
        [null, chunk({ tool_calls: [{ index: 0, id: "a", function: call }] }, "tool_calls")],
      ]);
      response.end();
    }, textResponse("Two."));
    expect((await chatUntilIdle(newSession(), "1+1?")).messages[1]).toMatchObject({ content: "Two." });
    const [, second] = service.provider.requests;
    expect(JSON.stringify(second?.body)).toContain("calculator");
    expect(JSON.stringify(second?.body)).not.toContain("I add.");
  });

  describe("that demands the reasoning of earlier turns", () => {
    const call = { name: "calculator", arguments: '{"expression":"1+1"}' };
    const calling: ProviderServer["answer"] = (response) => {
      writeEvents(response, [
        [null, chunk({ reasoning_content: "I add." })],
        [null, chunk({ tool_calls: [{ index: 0, id: "a", function: call }] }, "tool_calls")],
      ]);
      response.end();
    };
    type Sent = {
      readonly role: string;
      readonly tool_calls?: unknown;
      readonly reasoning_content?: unknown;
    };
    /** Refuses a request whose calls lack their reasoning, as DeepSeek and Kimi do. */
    const demanding =
      (answer: ProviderServer["answer"], message: string): ProviderServer["answer"] =>
      (response, request) => {
        const lacks = (request.body["messages"] as readonly Sent[]).some(
          (sent) => sent.tool_calls !== undefined && sent.reasoning_content === undefined,
        );
        const error = { message, type: "invalid_request_error", param: null, code: "invalid_request_error" };
        (lacks ? answerJson(400, { error }) : answer)(response, request);
      };

    it.each([
      [
        "charmbracelet/crush#2754",
        "Error from provider (DeepSeek): The `reasoning_content` in the thinking mode must be passed back to the API.",
      ],
      [
        "continuedev/continue#11600",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
      ],
    ])("gets it with the calls, and goes on after a change of the model (%s)", async (_report, message) => {
      service = await startProviderService(rig, { models: [rig, "demo/assistant"] });
      const session = newSession();
      answerWith(
        ...[calling, textResponse("Two."), textResponse("Sure.")].map((one) => demanding(one, message)),
      );
      expect((await chatUntilIdle(session, "1+1?")).messages[1]).toMatchObject({ content: "Two." });
      expect((await chatUntilIdle(session, "Sure?")).messages[3]).toMatchObject({ content: "Sure." });
      expect(service.provider.requests).toHaveLength(3);
      await chatUntilIdle(session, 'call calculator {"expression":"2+2"}', { rig: "demo/assistant" });
      // Another model's call has no reasoning, so that only the plain form can be accepted.
      expect((await chatUntilIdle(session, "And now?", { rig })).messages[7]).toMatchObject({
        content: "Sure.",
      });
      expect((await chatUntilIdle(session, "Really?")).messages[9]).toMatchObject({ content: "Sure." });
      expect(service.provider.requests).toHaveLength(6);
    });
  });

  it("may send a JSON answer in a code fence", async () => {
    service = await startProviderService(rig, {}, { jsonAnswers: "json_schema" });
    service.provider.answer = textResponse('```json\n{"city":"Oslo"}\n```');
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const snapshot = await chatUntilIdle(newSession(), "Where?", { response_schema: schema });
    expect(snapshot.messages[1]).toMatchObject({ data: { city: "Oslo" }, status: "complete" });
    expect(service.provider.requests[0]?.body["response_format"]).toMatchObject({
      type: "json_schema",
      json_schema: { schema, strict: false },
    });
  });

  it("generates titles without thinking tags", async () => {
    service = await startProviderService(rig, { utilityModel: rig });
    service.provider.answer = (response, request) => {
      const isTitle = JSON.stringify(request.body).includes("Write a title");
      textResponse(isTitle ? '<think>They bake.</think>\n\n**"Baking bread"**' : "Flour.")(response, request);
    };
    const session = newSession();
    await service.chat(session, "How do I bake bread?", "wait");
    expect((await service.stateWhen(session, ({ title }) => title !== "New Chat")).title).toBe(
      "Baking bread",
    );
  });
});

it("uses the plain title for the demo model under any provider's name", async () => {
  service = await startProviderService("local/llama3.2", { utilityModel: "mine/assistant" });
  service.provider.answer = textResponse("Flour.");
  const session = newSession();
  await service.chat(session, "How do I bake bread?", "wait");
  const { title } = await service.stateWhen(session, (snapshot) => snapshot.title !== "New Chat");
  expect(title).toBe("How do I bake bread?");
});
