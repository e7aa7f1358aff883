// Conversations with each provider, from the client's request to the provider's wire and back.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answerJson, type ProviderRequest, writeEvents } from "../provider-server.ts";
import { PROTOCOLS, type Conversation, type Events, type Part } from "./protocols.ts";
import { newSession, SECRET_KEY, startProviderService, type ProviderService } from "./provider-service.ts";

const IDLE = (snapshot: { readonly is_processing: boolean | null }): boolean =>
  snapshot.is_processing === false;
const USAGE = { inputTokens: 11, outputTokens: 7, totalTokens: 18, cachedInputTokens: 4 };

describe.each(PROTOCOLS.map((protocol) => [protocol.rig, protocol] as const))("%s", (rig, protocol) => {
  let service: ProviderService;
  const session = newSession();
  beforeEach(async () => {
    service = await startProviderService(rig);
  });
  afterEach(() => service.stop());

  /** Answers requests in order, repeating the last answer. */
  function answerWith(...answers: readonly (Events | readonly Part[])[]): void {
    let next = 0;
    service.provider.answer = (response) => {
      const answer = answers[Math.min(next, answers.length - 1)] ?? [];
      next += 1;
      writeEvents(response, isEvents(answer) ? answer : protocol.answer(answer));
      response.end();
    };
  }

  it("streams an answer and stores its token usage with the turn", async () => {
    answerWith([{ deltas: ["Hello", ", ", "you."] }]);
    const snapshot = await service.chat(session, "Hi", "wait");
    expect(snapshot).toMatchObject({ is_processing: false, model: rig });
    expect(snapshot.messages).toMatchObject([
      { sender: "user", content: "Hi", status: "complete" },
      { sender: "agent", content: "Hello, you.", status: "complete" },
    ]);
    expect(service.turns(session)).toMatchObject([{ state: "complete", usage: USAGE }]);
  });

  it("shows streaming text, and closes the connection on an interrupt", async () => {
    service.provider.answer = (response) => writeEvents(response, protocol.beginning("So far"));
    await service.chat(session, "Hi");
    await service.stateWhen(session, ({ messages }) => messages?.[1]?.content === "So far");
    const [request] = service.provider.requests;
    const snapshot = await service.interrupt(session);
    await request!.closed;
    expect(snapshot).toMatchObject({ is_processing: false, status: "interrupted" });
    expect(snapshot.messages[1]).toMatchObject({ content: "So far", status: "interrupted" });
    answerWith([{ deltas: ["Again."] }]);
    expect((await service.chat(session, "Go on", "wait")).messages[3]?.content).toBe("Again.");
    expect(JSON.stringify(protocol.conversation(service.provider.requests[1]!.body))).toContain("So far");
  });

  it("answers in a schema, and again after an answer that does not match", async () => {
    const thought = { reasoning: "They want a city.", signature: "c2VhbCBvZiB0aGUgZmlyc3Q+/w==" };
    const json = (value: object): Part =>
      protocol.jsonTool === undefined
        ? { deltas: JSON.stringify(value).split(/(?=:)/) }
        : { tool: protocol.jsonTool, input: value, id: "call_json" };
    answerWith([thought, json({ town: "Oslo" })], [json({ city: "Oslo" })]);
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const snapshot = await service.chat(session, "Where?", "wait", { response_schema: schema });
    expect(snapshot.messages[1]).toMatchObject({
      status: "complete",
      content: '{"city":"Oslo"}',
      data: { city: "Oslo" },
      has_reasoning: true,
    });
    const [first, second] = service.provider.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1));
    expect(first).toMatch(/"type":"json_(?:schema|object)"|"name":"json"/);
    expect(second).toContain("town");
    expect(second).toContain("This answer was rejected: it must have required property 'city'");
  });

  it("calls a tool, and later requests repeat the answer exactly, with signed reasoning", async () => {
    const first = { reasoning: "Twelve times seven.", signature: "c2VhbCBvZiB0aGUgZmlyc3Q+/w==" };
    const call = { tool: "calculator", input: { expression: "12 * 7" }, id: "callabcde" };
    const second = { reasoning: "That is all.", signature: "c2VhbCBvZiB0aGUgc2Vjb25kIHN0ZXA=" };
    answerWith(
      [first, { deltas: ["Let me", " see."] }, call],
      [second, { deltas: ["It is 84."] }],
      [{ deltas: ["You are welcome."] }],
    );
    const snapshot = await service.chat(session, "What is 12 * 7?", "wait");
    const [shown] = snapshot.messages[1]?.tool_calls ?? [];
    const [result] = snapshot.messages[1]?.tool_results ?? [];
    expect(shown).toMatchObject({
      name: "calculator",
      arguments: { expression: "12 * 7" },
      status: "complete",
    });
    expect(result).toMatchObject({ call_id: shown?.id, is_error: false, output: { result: 84 } });
    expect(snapshot.messages[1]?.content).toBe("Let me see.\n\nIt is 84.");
    const doubled = Object.fromEntries(Object.entries(USAGE).map(([name, tokens]) => [name, 2 * tokens]));
    expect(service.turns(session)).toMatchObject([{ state: "complete", usage: doubled }]);

    await service.chat(session, "Thanks", "wait");
    const conversation: Conversation = {
      question: "What is 12 * 7?",
      step: [first, "Let me see.", call],
      result: JSON.stringify(result?.output),
      answer: [second, "It is 84."],
      next: "Thanks",
    };
    const [, afterTool, secondTurn] = service.provider.requests.map(({ body }) =>
      protocol.conversation(body),
    );
    const replay = protocol.expectedConversation(conversation) as readonly unknown[];
    expect(secondTurn).toEqual(replay);
    // The step after the tool call has exactly the same beginning, and always the reasoning.
    const sent = afterTool as readonly object[];
    expect(JSON.stringify(sent)).toContain(protocol.reasoningOf(first));
    expect(sent.map((message) => ({ ...message, reasoning_content: undefined }))).toEqual(
      replay
        .slice(0, sent.length)
        .map((message) => ({ ...(message as object), reasoning_content: undefined })),
    );
    expect(sent.length).toBeGreaterThan(2);
  });

  it("sends a plain history once the provider refuses the native one, in later turns too", async () => {
    const call = { tool: "calculator", input: { expression: "12 * 7" }, id: "callabcde" };
    answerWith([call], [{ deltas: ["It is 84."] }]);
    await service.chat(session, "What is 12 * 7?", "wait");
    const before = service.provider.requests.length;
    service.provider.answer = (response, request) => {
      const isPlain = JSON.stringify(request.body).includes("I called the tool calculator");
      if (!isPlain) return answerJson(400, protocol.errorBody(400, "Conversation is odd"))(response, request);
      writeEvents(response, protocol.answer([{ deltas: ["Still here."] }]));
      return void response.end();
    };
    for (const message of ["And now?", "And then?"]) {
      const snapshot = await service.chat(session, message, "wait");
      expect(snapshot.messages.at(-1)).toMatchObject({ content: "Still here.", status: "complete" });
    }
    // The native history is tried once.
    expect(service.provider.requests.length - before).toBe(3);
    expect(await service.written()).toContain("history_refused");
  });

  it("fails at once with the provider's reason where a plain history would be the same", async () => {
    service.provider.answer = answerJson(400, protocol.errorBody(400, "Conversation is odd"));
    const snapshot = await service.chat(session, "Hello", "wait");
    expect(snapshot.messages.at(-1)).toMatchObject({ status: "failed" });
    expect(service.provider.requests.length).toBe(1);
  });

  it("retries a 429 after the time in Retry-After", async () => {
    let requests = 0;
    service.provider.answer = (response, request) => {
      requests += 1;
      if (requests > 1)
        return void (writeEvents(response, protocol.answer([{ deltas: ["Here."] }])), response.end());
      answerJson(429, protocol.errorBody(429, "Slow down"), { "retry-after": "7" })(response, request);
    };
    await service.chat(session, "Hi");
    await service.until(() => requests === 1);
    const asked = service.clock.monotonic();
    while (requests === 1) {
      await service.pass(1_000);
      await service.state(session);
    }
    expect(service.clock.monotonic() - asked).toBeGreaterThanOrEqual(7_000);
    const snapshot = await service.stateWhen(session, IDLE);
    expect(snapshot.messages[1]).toMatchObject({ content: "Here.", status: "complete" });
    expect(requests).toBe(2);
  });

  it("fails the turn if the provider rejects the key, without revealing the key", async () => {
    const message = `Incorrect API key provided: ${SECRET_KEY}.`;
    service.provider.answer = answerJson(401, protocol.errorBody(401, message));
    const snapshot = await service.chat(session, "A private question", "wait");
    expect(snapshot).toMatchObject({ is_processing: false, status: "idle" });
    expect(snapshot.messages[1]?.status).toBe("failed");
    expect(snapshot.system_events).toMatchObject([
      {
        type: "error",
        payload: { code: "model_auth", message: expect.stringMatching(/credentials.*operator/) as string },
      },
    ]);
    expect(service.provider.requests).toHaveLength(1);
    expect(JSON.stringify(service.provider.requests[0]?.headers)).toContain(SECRET_KEY);
    const written = await service.written();
    expect(written).not.toContain(SECRET_KEY);
    expect(written).toMatch(
      /"address":"http:[^"]+","status":401,"body":"Incorrect API key provided: \[redacted\]/,
    );
    expect(JSON.stringify(snapshot)).not.toContain(SECRET_KEY);
  });

  it("fails the turn after five minutes without data, and closes the connection", async () => {
    let hanging: ProviderRequest | undefined;
    service.provider.answer = (_response, request) => void (hanging = request);
    await service.chat(session, "Hi");
    await service.until(() => hanging !== undefined);
    await service.pass(299_000);
    expect((await service.state(session)).is_processing).toBe(true);
    await service.pass(2_000);
    const snapshot = await service.stateWhen(session, IDLE);
    await hanging!.closed;
    expect(snapshot.system_events).toMatchObject([{ payload: { code: "turn_stalled" } }]);
  });

  it("retries a connection that breaks before any text, and fails the turn if it breaks later", async () => {
    let requests = 0;
    service.provider.answer = (response) => {
      requests += 1;
      if (requests === 1) return void response.destroy();
      writeEvents(response, protocol.beginning("Half an ans"));
      if (requests === 2) setImmediate(() => response.end());
    };
    await service.chat(session, "Hi");
    await service.until(() => requests === 1);
    while (requests === 1) {
      await service.pass(1_000);
      await service.state(session);
    }
    const snapshot = await service.stateWhen(session, IDLE);
    expect(snapshot.messages[1]).toMatchObject({ content: "Half an ans", status: "failed" });
    expect(snapshot.system_events).toMatchObject([{ payload: { code: "model_unavailable" } }]);
    expect(requests).toBe(2);
  });

  it("removes NUL and replaces lone surrogates, and joins characters split over two deltas", async () => {
    const id = "call_1";
    answerWith(
      [
        { deltas: ["a\0b\ud83d", "\ude00c\ud83d", "d"] },
        { tool: "calculator", input: { expression: "1\0+1", note: "\ude00" }, id },
      ],
      [{ deltas: ["\0done\0"] }],
    );
    const snapshot = await service.chat(session, "Hi", "wait");
    expect(snapshot.messages[1]?.content).toBe("ab😀c\ufffdd\n\ndone");
    expect(snapshot.messages[1]?.tool_calls?.[0]?.arguments).toEqual({ expression: "1+1", note: "\ufffd" });
    const sentBack = JSON.stringify(service.provider.requests[1]?.body);
    expect(sentBack).not.toMatch(/\\u0000|\\ud83d|\\ude00/i);
    expect(sentBack).toContain("ab😀c\ufffdd");
  });
});

function isEvents(answer: Events | readonly Part[]): answer is Events {
  return Array.isArray(answer[0]);
}
