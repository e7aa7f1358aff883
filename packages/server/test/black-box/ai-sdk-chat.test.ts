// `POST /api/ai-sdk/chat`: messages, their replacement, and answers to calls, as `useChat` sends them.

import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { randomUUID } from "node:crypto";
import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import {
  bodyOf,
  chat,
  messagesOf,
  openChat,
  refused,
  resume,
  textOf,
  userMessage,
  type ReadStream,
} from "./ai-sdk-client.ts";
import { chat as nativeChat, expectProblem, newSession, send, state, whenIdle } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

const finishOf = ({ chunks }: ReadStream) => chunks.find(({ type }) => type === "finish");

/** A PNG of one pixel, as browsers read a file. */
const PNG_URL = `data:image/png;base64,${FILES.png.toString("base64")}`;

describe("file parts", () => {
  const withFile = (id: string, text = "look") => ({
    ...userMessage(text, id),
    parts: [
      { type: "file" as const, mediaType: "image/png", filename: "dot.png", url: PNG_URL },
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ],
  });

  it("become attachments, and attachments file parts, whose URL can be sent again", async () => {
    const [session, id] = [newSession(), newSession()];
    await chat(url(), bodyOf(session, [withFile(id)]));
    const [question] = (await state(url(), session)).messages;
    expect(question).toMatchObject({
      content: "look",
      attachments: [{ name: "dot.png", media_type: "image/png" }],
    });
    const file = question!.attachments![0]!;
    const [shown] = await messagesOf(url(), session);
    expect(shown!.parts).toEqual([
      { type: "file", mediaType: "image/png", filename: "dot.png", url: `/api/files/${file.id}` },
      { type: "text", text: "look", state: "done" },
    ]);
    const again = { ...shown!, id: newSession() };
    await chat(url(), bodyOf(session, [again]));
    expect((await state(url(), session)).messages[2]?.attachments).toEqual([file]);
  });

  it("are stored once if the message is sent again, and kept if its answer is regenerated", async () => {
    const [session, id] = [newSession(), newSession()];
    await chat(url(), bodyOf(session, [withFile(id)]));
    const before = await state(url(), session);
    await chat(url(), bodyOf(session, [withFile(id)]));
    expect((await state(url(), session)).messages).toEqual(before.messages);
    const answer = before.messages[1]!.id;
    const regenerate = { trigger: "regenerate-message", messageId: answer };
    await chat(url(), bodyOf(session, [withFile(id)], regenerate));
    const after = await state(url(), session);
    expect(after.messages[0]).toMatchObject({ id, attachments: before.messages[0]!.attachments });
    expect(after.messages[1]!.id).not.toBe(answer);
  });

  it("need no text", async () => {
    const session = newSession();
    await chat(url(), bodyOf(session, [withFile(newSession(), "")]));
    expect((await state(url(), session)).messages[0]).toMatchObject({ content: "", attachments: [{}] });
  });
});

describe("POST /api/ai-sdk/chat with a message", () => {
  it("stores the message under the client's id, and streams the answer to its end", async () => {
    const session = newSession();
    const sent = userMessage("hello");
    const stream = await chat(url(), bodyOf(session, [sent]));
    const { messages } = await state(url(), session);
    expect(messages).toMatchObject([{ id: sent.id, content: "hello" }, { sender: "agent" }]);
    expect(stream.chunks[0]).toEqual({ type: "start", messageId: messages[1]?.id });
    expect(stream.chunks.slice(-2)).toEqual([
      { type: "finish-step" },
      { type: "finish", finishReason: "stop" },
    ]);
    const answer = await stream.message();
    expect(answer).toMatchObject({ id: messages[1]?.id, role: "assistant" });
    expect(textOf(answer)).toBe(messages[1]?.content);
  });

  it("streams text while it is written, and stops nothing when the client leaves", async () => {
    const session = newSession();
    const stream = await openChat(url(), bodyOf(session, [userMessage("count to 500")]));
    await stream.until(({ type }) => type === "text-delta");
    expect((await state(url(), session)).is_processing).toBe(true);
    stream.leave();
    const length = async () => (await state(url(), session)).messages[1]?.content.length ?? 0;
    const before = await length();
    await expect.poll(length).toBeGreaterThan(before + 20);
    await send(url(), "POST", "/api/interrupt", { session });
  });

  it("streams calls with their input and output", async () => {
    const stream = await chat(url(), bodyOf(newSession(), [userMessage("what is 12 * 7?")]));
    const answer = await stream.message();
    expect(answer?.parts).toContainEqual(
      expect.objectContaining({
        type: "dynamic-tool",
        toolName: "calculator",
        state: "output-available",
        input: { expression: "12 * 7" },
        output: expect.objectContaining({ result: 84 }),
        providerExecuted: true,
      }),
    );
    expect(textOf(answer)).toContain("84");
  });

  it("ends with abort when the answer is interrupted, without asking the client to continue", async () => {
    const session = newSession();
    const stream = await openChat(url(), bodyOf(session, [userMessage("count to 500")]));
    await stream.until(({ type }) => type === "text-delta");
    await send(url(), "POST", "/api/interrupt", { session });
    await stream.ended;
    expect(stream.chunks.slice(-2)).toEqual([
      { type: "abort" },
      { type: "finish", finishReason: "interrupted" },
    ]);
  });

  it("waits for its turn behind another answer", async () => {
    const session = newSession();
    const first = await openChat(url(), bodyOf(session, [userMessage("count to 6")]));
    const second = await openChat(url(), bodyOf(session, [userMessage("what is 2 + 2?")]));
    await Promise.all([first.ended, second.ended]);
    expect(textOf(await first.message())).toContain("6");
    expect(textOf(await second.message())).toContain("4");
  });

  it("ends the stream of a message that is interrupted before its turn", async () => {
    const session = newSession();
    const first = await openChat(url(), bodyOf(session, [userMessage("count to 500")]));
    await first.until(({ type }) => type === "text-delta");
    const second = await openChat(url(), bodyOf(session, [userMessage("hello")]));
    await send(url(), "POST", "/api/interrupt", { session });
    await second.ended;
    expect(second.chunks).toEqual([{ type: "abort" }, { type: "finish", finishReason: "interrupted" }]);
  });

  it("stores a message once that is sent again, and replays its answer", async () => {
    const session = newSession();
    const body = bodyOf(session, [userMessage("what is 12 * 7?")]);
    const first = await openChat(url(), body);
    const again = await openChat(url(), body);
    await Promise.all([first.ended, again.ended]);
    const late = await chat(url(), body);
    expect(textOf(await late.message())).toBe(textOf(await first.message()));
    expect((await late.message())?.id).toBe((await again.message())?.id);
    expect((await state(url(), session)).messages).toHaveLength(2);
  });

  it("uses the wallet, user state, client, App and model of the body, and ignores other fields", async () => {
    const session = newSession();
    const more = { rig: "demo/assistant", app: "default", user_state: { a: 1 }, client_id: "c", more: [1] };
    await chat(url(), bodyOf(session, [userMessage("hello")], more));
    expect(await state(url(), session)).toMatchObject({ user_state: { a: 1 }, model: "demo/assistant" });
  });

  it("reads the last message only", async () => {
    const session = newSession();
    const before = [null, 7, { role: "assistant" }, { id: "x", role: "user", parts: [{ type: "file" }] }];
    const stream = await chat(url(), bodyOf(session, [...before, userMessage("what is 2 + 2?")]));
    expect(textOf(await stream.message())).toContain("4");
    expect((await state(url(), session)).messages).toHaveLength(2);
  });

  it("accepts a conversation larger than a chat's limit of 256 KiB", async () => {
    const long = userMessage("x".repeat(3_000_000));
    const stream = await chat(url(), bodyOf(newSession(), [long, userMessage("hello")]));
    expect(finishOf(stream)).toMatchObject({ finishReason: "stop" });
  });
});

describe("POST /api/ai-sdk/chat with a message that the session has", () => {
  /** Sends messages one after the other. Returns them with their answers, as the client has them. */
  async function answered(session: string, ...texts: string[]): Promise<UIMessage[]> {
    const messages: UIMessage[] = [];
    for (const text of texts) {
      messages.push(userMessage(text));
      const answer = await (await chat(url(), bodyOf(session, messages))).message();
      messages.push(answer!);
    }
    return messages;
  }

  it("replaces it with all that follow, if its text is another one", async () => {
    const session = newSession();
    const messages = await answered(session, "hello", "what is 1 + 1?", "what is 2 + 2?");
    const edited = userMessage("what is 3 + 4?", messages[2]?.id);
    const body = bodyOf(session, [...messages.slice(0, 2), edited], { messageId: edited.id });
    const answer = await (await chat(url(), body)).message();
    expect(textOf(answer)).toContain("7");
    const after = await messagesOf(url(), session);
    expect(after.map(({ id }) => id)).toEqual([messages[0]?.id, messages[1]?.id, edited.id, answer?.id]);
    // Back and forth: each text replaces the other.
    await chat(url(), bodyOf(session, [messages[2]]));
    expect((await state(url(), session)).messages.at(-2)?.content).toBe("what is 1 + 1?");
    await chat(url(), body);
    expect((await state(url(), session)).messages.at(-2)?.content).toBe("what is 3 + 4?");
  });

  it("regenerates its answer each time, also one that is being written", async () => {
    const session = newSession();
    const [asked, first] = await answered(session, "hello");
    const body = bodyOf(session, [asked], { trigger: "regenerate-message" });
    const second = await (await chat(url(), body)).message();
    const third = await (await chat(url(), body)).message();
    expect(new Set([first?.id, second?.id, third?.id]).size).toBe(3);
    expect((await state(url(), session)).messages.map(({ id }) => id)).toEqual([asked?.id, third?.id]);
    const running = await openChat(url(), bodyOf(session, [userMessage("count to 500")]));
    await running.until(({ type }) => type === "text-delta");
    await chat(url(), body);
    await running.ended;
    expect(running.chunks.at(-1)).toEqual({ type: "finish", finishReason: "interrupted" });
  });

  it("regenerates once when a request that names the answer is repeated", async () => {
    const session = newSession();
    const [asked, first] = await answered(session, "hello");
    const body = bodyOf(session, [asked], { trigger: "regenerate-message", messageId: first?.id });
    const second = await (await chat(url(), body)).message();
    const repeated = await (await chat(url(), body)).message();
    expect(second?.id).not.toBe(first?.id);
    expect(repeated?.id).toBe(second?.id);
  });

  it("answers a message that did not arrive before when it is regenerated", async () => {
    const session = newSession();
    const body = bodyOf(session, [userMessage("hello")], { trigger: "regenerate-message" });
    expect(finishOf(await chat(url(), body))).toMatchObject({ finishReason: "stop" });
    expect((await state(url(), session)).messages).toHaveLength(2);
  });
});

describe("POST /api/ai-sdk/chat rejects", () => {
  const one = userMessage("hello");

  it.each([
    ["a chat id that is no UUID", bodyOf("chat-1", [one]), /"id" must be a UUID.*generateId.*randomUUID/],
    ["a message id that is no UUID", bodyOf(randomUUID(), [{ ...one, id: "abc" }]), /generateId.*randomUUID/],
    ["a message with the id of the chat", bodyOf(one.id, [one]), /must have another id than the chat/],
    ["no messages", bodyOf(randomUUID(), []), /"messages" must hold at least one/],
    [
      "messages that are no array",
      { ...bodyOf(randomUUID(), []), messages: {} },
      /"messages" must be an array/,
    ],
    ["a last message without parts", bodyOf(randomUUID(), [{ ...one, parts: undefined }]), /parts/],
    ["a last message that is no object", bodyOf(randomUUID(), [7]), /must be an object/],
    ["a system message", bodyOf(randomUUID(), [{ ...one, role: "system" }]), /must be one of the user/],
    ["another trigger", bodyOf(randomUUID(), [one], { trigger: "resume-stream" }), /"trigger" must be/],
    ["a message id that is no text", bodyOf(randomUUID(), [one], { messageId: 7 }), /"messageId" must be/],
    [
      "an assistant's message to be generated again",
      bodyOf(randomUUID(), [{ ...one, role: "assistant" }], { trigger: "regenerate-message" }),
      /must be one of the user/,
    ],
  ])("%s with 400", async (_case, body, expected) => {
    expect(expectProblem(await refused(url(), body), 400, "parameter_invalid")).toMatch(expected);
  });

  it("files of elsewhere, empty and of other types, and more than ten", async () => {
    const withFile = (file: object, count = 1) =>
      bodyOf(newSession(), [
        {
          ...one,
          parts: [...one.parts, ...Array.from({ length: count }, () => ({ type: "file", ...file }))],
        },
      ]);
    const elsewhere = withFile({ mediaType: "image/png", url: "https://example.com/a.png" });
    expectProblem(await refused(url(), elsewhere), 400, "file_url_unsupported");
    expectProblem(await refused(url(), withFile({ url: 7 })), 400, "file_url_unsupported");
    expectProblem(
      await refused(url(), withFile({ mediaType: "image/png", url: "data:," })),
      400,
      "file_empty",
    );
    const page = { mediaType: "text/html", url: "data:text/html,<html>" };
    expectProblem(await refused(url(), withFile(page)), 415, "file_type_unsupported");
    expectProblem(await refused(url(), withFile({ url: PNG_URL }, 11)), 400, "parameter_invalid");
  });

  it("blank text with 400, and long text with 413, and creates no session", async () => {
    const session = newSession();
    expectProblem(await refused(url(), bodyOf(session, [userMessage(" ")])), 400, "message_blank");
    expectProblem(await refused(url(), bodyOf(session, [userMessage("x".repeat(32_769))])), 413);
    expectProblem(await refused(url(), bodyOf(session, [one], { rig: "no/model" })), 400, "unknown_model");
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
  });

  it("a body that is not JSON, or is too large", async () => {
    const text = JSON.stringify(bodyOf(newSession(), [one]));
    const plain = { body: text, headers: { "content-type": "text/plain" } };
    expectProblem(await refused(url(), undefined, plain), 415, "media_type_unsupported");
    const huge = bodyOf(newSession(), [userMessage("x".repeat(17 * 1024 * 1024 + 1000)), one]);
    expect(expectProblem(await refused(url(), huge), 413, "body_too_large")).toContain("send only new ones");
  });

  it("the message of another session and of an answer with a Conflict", async () => {
    const session = newSession();
    const { messages } = await nativeChat(url(), session, "hello");
    await whenIdle(url(), session);
    const answer = (await state(url(), session)).messages[1]?.id ?? "";
    expectProblem(
      await refused(url(), bodyOf(session, [userMessage("hi", answer)])),
      400,
      "not_a_user_message",
    );
    const other = newSession();
    await chat(url(), bodyOf(other, [userMessage("hello", messages[0]?.id)]));
    expect((await state(url(), other)).messages).toHaveLength(2);
  });
});

describe("POST /api/ai-sdk/chat with an answer", () => {
  const asking = useService({
    apps: {
      default: {
        models: ["demo/assistant"],
        tools: ["calculator"],
        approvals: { calculator: "always" },
        clientTools: { look: { description: "Looks", inputSchema: { type: "object" } } },
        allowClientTools: true,
      },
    },
  });

  /** Returns the messages of a client whose answer waits for an approval. */
  async function waiting(session: string): Promise<[UIMessage, UIMessage]> {
    const sent = userMessage("what is 12 * 7?");
    const stream = await chat(asking(), bodyOf(session, [sent]));
    expect(finishOf(stream)).toEqual({ type: "finish", finishReason: "tool-calls" });
    return [sent, (await stream.message())!];
  }

  /** Answers as `addToolApprovalResponse` does. */
  function responded(message: UIMessage, approved: boolean): UIMessage {
    const parts = message.parts.map((part) =>
      part.type === "dynamic-tool" && part.state === "approval-requested"
        ? { ...part, state: "approval-responded" as const, approval: { id: part.approval.id, approved } }
        : part,
    );
    return { ...message, parts };
  }

  it("requests approval and ends, and continues the answer once it is approved", async () => {
    const session = newSession();
    const [sent, asked] = await waiting(session);
    const [action] = (await state(asking(), session)).pending_actions;
    expect(asked.parts.at(-1)).toMatchObject({
      type: "dynamic-tool",
      state: "approval-requested",
      approval: { id: action?.id },
    });
    const approved = responded(asked, true);
    const stream = await chat(asking(), bodyOf(session, [sent, approved], { messageId: approved.id }));
    expect(stream.chunks[0]).toEqual({ type: "start", messageId: asked.id });
    const types = stream.chunks.map(({ type }) => type);
    expect(types).not.toContain("start-step");
    expect(types).not.toContain("tool-input-available");
    const answer = await stream.message(structuredClone(approved));
    expect(answer?.parts).toMatchObject([
      { type: "step-start" },
      { type: "dynamic-tool", state: "output-available" },
      { type: "text", text: expect.stringContaining("84") },
    ]);
    expect(textOf(answer)).toBe((await state(asking(), session)).messages[1]?.content);
  });

  it("continues after a denial, and ignores a repeated decision", async () => {
    const session = newSession();
    const [sent, asked] = await waiting(session);
    const body = bodyOf(session, [sent, responded(asked, false)]);
    const answer = await (await chat(asking(), body)).message(structuredClone(responded(asked, false)));
    expect(answer?.parts).toContainEqual(
      expect.objectContaining({ state: "output-error", errorText: "The user denied this call." }),
    );
    const again = await chat(asking(), body);
    expect(await again.message(structuredClone(responded(asked, false)))).toEqual(answer);
    // Decided otherwise before: the stream shows what became of the call.
    const late = await chat(asking(), bodyOf(session, [sent, responded(asked, true)]));
    expect(late.chunks).toContainEqual(expect.objectContaining({ type: "tool-output-error" }));
  });

  it("stays waiting without a decision", async () => {
    const session = newSession();
    const [sent, asked] = await waiting(session);
    const stream = await chat(asking(), bodyOf(session, [sent, asked]));
    expect(stream.chunks.map(({ type }) => type)).toEqual(["start", "finish-step", "finish"]);
    expect((await state(asking(), session)).pending_actions).toHaveLength(1);
  });

  it("replays the waiting answer, and sends all of it to a client that has another one", async () => {
    const session = newSession();
    const [sent, asked] = await waiting(session);
    const replay = await resume(asking(), session);
    await replay?.ended;
    expect(await replay?.message()).toEqual(asked);
    const other = { ...responded(asked, true) };
    other.parts = [{ type: "step-start" }, { type: "text", text: "Something else" }, ...other.parts.slice(1)];
    const stream = await chat(asking(), bodyOf(session, [sent, other]));
    expect(stream.chunks[1]).toEqual({ type: "reset-step" });
    const answer = await stream.message(structuredClone(other));
    expect(textOf(answer)).toBe((await state(asking(), session)).messages[1]?.content);
  });

  /** Returns the answer whose call the client runs, and the call. */
  async function asked(session: string, tool = "look", more: object = {}) {
    const sent = userMessage(`call ${tool} {"city":"Bern"}`);
    const stream = await chat(asking(), bodyOf(session, [sent], more));
    const message = (await stream.message())!;
    const call = message.parts.find((part) => part.type === "dynamic-tool");
    expect(call).toMatchObject({ toolName: tool, state: "input-available", providerExecuted: false });
    return { sent, message, call: call! };
  }

  const outputOf = ({ message, call }: { message: UIMessage; call: object }, more: object) => ({
    ...message,
    parts: message.parts.map((part) => (part === call ? { ...part, ...more } : part)),
  });

  it("takes the output of a call that ran in the client, once, and does not ask for it again", async () => {
    const session = newSession();
    const one = await asked(session);
    const answered = outputOf(one, { state: "output-available", output: { seen: "bears" } });
    const stream = await chat(asking(), bodyOf(session, [one.sent, answered]));
    const answer = await stream.message(structuredClone(answered));
    expect(answer?.parts).toMatchObject([
      { type: "step-start" },
      { state: "output-available", output: { seen: "bears" }, providerExecuted: true },
      { type: "text" },
    ]);
    const other = outputOf(one, { state: "output-available", output: { seen: "wolves" } });
    const again = await chat(asking(), bodyOf(session, [one.sent, other]));
    expect(again.chunks).toContainEqual(
      expect.objectContaining({ type: "tool-output-available", output: { seen: "bears" } }),
    );
  });

  it("takes the error of a call that ran in the client, also of a tool that the chat offers", async () => {
    const session = newSession();
    const client_tools = { peek: { description: "Peeks", inputSchema: { type: "object" } } };
    const one = await asked(session, "peek", { client_tools });
    const still = await chat(asking(), bodyOf(session, [one.sent, one.message]));
    expect(still.chunks.map(({ type }) => type)).toEqual(["start", "finish-step", "finish"]);
    const answered = outputOf(one, { state: "output-error", errorText: "No window" });
    const stream = await chat(asking(), bodyOf(session, [one.sent, answered]));
    expect(stream.chunks).toContainEqual(
      expect.objectContaining({ type: "tool-output-error", errorText: expect.stringContaining("No window") }),
    );
    expect(finishOf(stream)).toMatchObject({ finishReason: "stop" });
  });

  it("rejects an unknown session or message with 404, and ignores decisions on other actions", async () => {
    const session = newSession();
    const [sent, asked] = await waiting(session);
    const answer = responded(asked, true);
    expectProblem(await refused(asking(), bodyOf(newSession(), [answer])), 404, "session_not_found");
    const stranger = { ...asked, id: randomUUID() };
    expectProblem(await refused(asking(), bodyOf(session, [sent, stranger])), 404, "message_not_found");
    const part = { type: "dynamic-tool", toolCallId: "c", state: "approval-responded" };
    const unknown = { ...asked, parts: [{ ...part, approval: { id: randomUUID(), approved: true } }] };
    expect(finishOf(await chat(asking(), bodyOf(session, [sent, unknown])))).toMatchObject({
      finishReason: "tool-calls",
    });
    expect((await state(asking(), session)).pending_actions).toHaveLength(1);
  });

  it.each([
    ["no objects", [null, 7, "text", []]],
    ["without fields", [{}, { type: "dynamic-tool" }, { type: "tool-x", toolCallId: 7 }, { type: "text" }]],
    ["of unknown types", [{ type: "data-x", data: 1 }, { type: "file" }, { type: "reasoning", text: "x" }]],
    [
      "with wrong fields",
      [
        { type: "tool-x", toolCallId: "a", state: "approval-responded", approval: 7 },
        { type: "tool-x", toolCallId: "b", state: "output-available" },
        { type: "tool-x", toolCallId: "c", state: {}, approval: { id: {} } },
        { type: "data-action", data: { id: 7 } },
      ],
    ],
  ])("ignores parts %s", async (_case, parts) => {
    const session = newSession();
    const [sent, asked] = await waiting(session);
    const stream = await chat(asking(), bodyOf(session, [sent, { ...asked, parts }]));
    expect(finishOf(stream)).toMatchObject({ finishReason: "tool-calls" });
    expect((await state(asking(), session)).pending_actions).toHaveLength(1);
  });
});
