// Runs the unmodified `HttpAgent`, whose `verifyEvents` rejects a stream that violates the protocol.

import { EventType } from "@ag-ui/client";
import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ProtocolService, startProtocolService, withAskingTools } from "../protocol-service.ts";
import { agentOf } from "./ag-ui-agent.ts";

const TOOL = {
  name: "pick_colour",
  description: "Lets the user pick a colour",
  parameters: { type: "object", properties: { of: { type: "string" } } },
};

describe("a run", () => {
  let service: ProtocolService;
  beforeEach(async () => {
    service = await startProtocolService({ adjust: withAskingTools });
  });
  afterEach(() => service.close());
  const start = (threadId?: string) =>
    agentOf(`${service.url}/api/ag-ui`, threadId === undefined ? {} : { threadId });
  const native = () => createClient({ baseUrl: service.url });

  it("streams text, and stores the message under the client's id", async () => {
    const { agent, say, types } = start();
    const done = say("hello");
    const call = await service.model.next();
    call.say("Hi ", "there.").finish();
    await done;
    expect(types()).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    expect(agent.messages).toMatchObject([{ role: "user" }, { role: "assistant", content: "Hi there." }]);
    const { messages } = await native().getState(agent.threadId);
    expect(messages.map(({ id }) => id)).toEqual(agent.messages.map(({ id }) => id));
  });

  it("streams reasoning before the text", async () => {
    const { agent, say, types } = start();
    const done = say("think");
    const call = await service.model.next();
    call.emit(
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "Let me see." },
      { type: "reasoning-end", id: "r" },
    );
    await expect.poll(() => types()).toContain("REASONING_MESSAGE_CONTENT");
    call.say("Done.").finish();
    await done;
    expect(types()).toEqual([
      "RUN_STARTED",
      "REASONING_START",
      "REASONING_MESSAGE_START",
      "REASONING_MESSAGE_CONTENT",
      "REASONING_MESSAGE_END",
      "REASONING_END",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    expect(agent.messages).toMatchObject([
      {},
      { role: "reasoning", content: "Let me see." },
      { content: "Done." },
    ]);
  });

  it("ends with an interrupt for an approval, and resumes with the decision", async () => {
    const { agent, events, say, types } = start();
    const asked = say("calculate");
    const first = await service.model.next();
    first.say("Let me see. ").callTool("calculator", { expression: "6*7" }, "call_0").finish("tool-calls");
    const { newMessages } = await asked;
    expect(newMessages).toMatchObject([
      {
        role: "assistant",
        content: "Let me see. ",
        toolCalls: [{ function: { name: "calculator", arguments: '{"expression":"6*7"}' } }],
      },
    ]);
    expect(types().slice(-3)).toEqual(["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    const [interrupt] = agent.pendingInterrupts;
    const [call] = (newMessages[0] as { toolCalls: { id: string }[] }).toolCalls;
    expect(interrupt).toMatchObject({
      reason: "tool_call",
      toolCallId: call!.id,
      expiresAt: expect.any(String),
    });
    const resumed = agent.runAgent({
      resume: [{ interruptId: interrupt!.id, status: "resolved", payload: { approved: true } }],
    });
    (await service.model.next()).say("It is 42.").finish();
    await resumed;
    expect(types()).not.toContain("TOOL_CALL_START");
    expect(events.find(({ type }) => type === EventType.TOOL_CALL_RESULT)).toMatchObject({
      toolCallId: call!.id,
      content: expect.stringContaining("42"),
    });
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(agent.messages.at(-1)).toMatchObject({ content: "It is 42." });
    expect(agent.pendingInterrupts).toEqual([]);
  });

  it("denies the call of a cancelled interrupt, and ignores a repeated resume", async () => {
    const { agent, events, say } = start();
    const asked = say("calculate");
    (await service.model.next()).callTool("calculator", { expression: "1+1" }, "call_0").finish("tool-calls");
    await asked;
    const resume = [{ interruptId: agent.pendingInterrupts[0]!.id, status: "cancelled" as const }];
    const resumed = agent.runAgent({ resume });
    (await service.model.next()).say("Then not.").finish();
    await resumed;
    expect(events.find(({ type }) => type === EventType.TOOL_CALL_RESULT)).toMatchObject({
      content: expect.stringMatching(/den/i),
    });
    await agent.runAgent({ resume });
    expect(agent.messages.at(-1)).toMatchObject({ content: "Then not." });
    expect(agent.messages.filter(({ role }) => role === "assistant")).toHaveLength(2);
  });

  it("sends a question as an interrupt", async () => {
    const { agent, say } = start();
    const asked = say("ask me");
    (await service.model.next())
      .callTool("ask_user", { question: "Which?", choices: ["a", "b"] })
      .finish("tool-calls");
    await asked;
    expect(agent.pendingInterrupts).toMatchObject([
      {
        reason: "input_required",
        message: "Which?",
        responseSchema: { properties: { answer: { examples: ["a", "b"] } } },
      },
    ]);
    const resumed = agent.runAgent({
      resume: [{ interruptId: agent.pendingInterrupts[0]!.id, status: "resolved", payload: { answer: "b" } }],
    });
    const call = await service.model.next();
    expect(call.prompt.at(-1)).toContain("b");
    call.say("Taking b.").finish();
    await resumed;
    expect(agent.messages.at(-1)).toMatchObject({ content: "Taking b." });
  });

  it("rejects messages and partial resumes while interrupts are open", async () => {
    const { agent, say } = start();
    const asked = say("calculate");
    (await service.model.next())
      .callTool("calculator", { expression: "1+1" })
      .callTool("calculator", { expression: "2+2" })
      .finish("tool-calls");
    await asked;
    const open = agent.pendingInterrupts;
    expect(open).toHaveLength(2);
    const other = start(agent.threadId);
    const refusal = async (run: Promise<unknown>) => {
      await run;
      expect(other.types()).toEqual(["RUN_STARTED", "RUN_ERROR"]);
      return other.events.at(-1);
    };
    expect(await refusal(other.say("and?"))).toMatchObject({
      code: "interrupts_open",
      message: expect.stringMatching(/waits for a decision/),
    });
    const answer = (payload: unknown) => ({ interruptId: open[0]!.id, status: "resolved" as const, payload });
    expect(await refusal(other.agent.runAgent({ resume: [answer({ approved: true })] }))).toMatchObject({
      message: expect.stringContaining(open[1]!.id),
    });
    const both = [answer({ approved: "yes" }), { interruptId: open[1]!.id, status: "cancelled" as const }];
    expect(await refusal(other.agent.runAgent({ resume: both }))).toMatchObject({
      message: expect.stringMatching(/"approved": true or false/),
    });
    const edited = [
      answer({ approved: true, editedArgs: {} }),
      { interruptId: open[1]!.id, status: "cancelled" as const },
    ];
    expect(await refusal(other.agent.runAgent({ resume: edited }))).toMatchObject({
      message: expect.stringMatching(/cannot be edited/),
    });
    const unknown = [{ interruptId: randomUUID(), status: "cancelled" as const }];
    expect(await refusal(other.agent.runAgent({ resume: unknown }))).toMatchObject({
      message: expect.stringMatching(/no interrupt/),
    });
    expect((await native().getState(agent.threadId)).pending_actions).toHaveLength(2);
  });

  it("lets the client run its tools, and continues with the result", async () => {
    const { agent, events, say, types } = start();
    const asked = say("pick", { tools: [TOOL] });
    const first = await service.model.next();
    expect(first.options.tools?.map(({ name }) => name)).toContain("pick_colour");
    first.callTool("pick_colour", { of: "wall" }, "call_0").finish("tool-calls");
    await asked;
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
    const [call] = (agent.messages.at(-1) as { toolCalls: { id: string }[] }).toolCalls;
    agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call!.id, content: "blue" });
    const continued = agent.runAgent({ tools: [TOOL] });
    const second = await service.model.next();
    expect(second.prompt.at(-1)).toContain("blue");
    second.say("Blue it is.").finish();
    await continued;
    expect(types()).toContain("TOOL_CALL_RESULT");
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    // The provider repeats the id of the earlier call.
    const again = say("again", { tools: [TOOL] });
    (await service.model.next()).callTool("pick_colour", { of: "door" }, "call_0").finish("tool-calls");
    await again;
    const [next] = (agent.messages.at(-1) as { toolCalls: { id: string; function: { arguments: string } }[] })
      .toolCalls;
    expect(next!.id).not.toBe(call!.id);
    expect(next!.function.arguments).toBe('{"of":"door"}');
    // A new message cancels the call.
    const moved = say("never mind");
    const last = await service.model.next();
    last.say("Fine.").finish();
    await moved;
    expect(agent.messages.at(-1)).toMatchObject({ content: "Fine." });
  });

  it("sends the results of calls that a new message cancels", async () => {
    const { agent, say, types } = start();
    const calling = say("Paint", { tools: [TOOL] });
    (await service.model.next()).callTool("pick_colour", { of: "wall" }).finish("tool-calls");
    await calling;
    const next = say("Never mind", { tools: [TOOL] });
    (await service.model.next()).say("Fine.").finish();
    await next;
    expect(types()).toEqual([
      "RUN_STARTED",
      "MESSAGES_SNAPSHOT",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    const roles = agent.messages.map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "user", "assistant"]);
  });

  it("waits for the results of all parallel calls before the next model call", async () => {
    const { agent, say, types } = start();
    const asked = say("pick two", { tools: [TOOL] });
    const first = await service.model.next();
    first
      .callTool("pick_colour", { of: "wall" }, "call_0")
      .callTool("pick_colour", { of: "door" }, "call_1")
      .finish("tool-calls");
    await asked;
    const calls = (agent.messages.at(-1) as { toolCalls: { id: string }[] }).toolCalls;
    expect(calls).toHaveLength(2);
    const answer = (at: number, content: string) =>
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: calls[at]!.id, content });
    answer(1, "red");
    await agent.runAgent({ tools: [TOOL] });
    expect(types().at(-1)).toBe("RUN_FINISHED");
    answer(0, "blue");
    const continued = agent.runAgent({ tools: [TOOL] });
    const second = await service.model.next();
    expect(second.prompt.slice(-1).join()).toMatch(/blue.*red|red.*blue/s);
    second.callTool("pick_colour", { of: "roof" }, "call_0").finish("tool-calls");
    await continued;
    expect(types()).toContain("TOOL_CALL_START");
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect((agent.messages[1] as { toolCalls: object[] }).toolCalls).toHaveLength(3);
  });

  it("accepts a decision together with a result of the same call, as sent by CopilotKit", async () => {
    const { agent, say } = start();
    const asked = say("calculate");
    (await service.model.next()).callTool("calculator", { expression: "6*7" }).finish("tool-calls");
    await asked;
    const [interrupt] = agent.pendingInterrupts;
    agent.addMessage({
      id: randomUUID(),
      role: "tool",
      toolCallId: interrupt!.toolCallId!,
      content: '{"approved":true}',
    });
    const resumed = agent.runAgent({
      resume: [{ interruptId: interrupt!.id, status: "resolved", payload: { approved: true } }],
    });
    (await service.model.next()).say("42.").finish();
    await resumed;
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(agent.messages[2]).toMatchObject({ content: expect.stringContaining('"result":42') });
  });

  it("sends the thread to a client that connects, and follows the answer in progress", async () => {
    const { agent, say } = start();
    const done = say("hello");
    const call = await service.model.next();
    call.say("One. ");
    await expect.poll(() => agent.messages.length).toBe(2);
    const other = start(agent.threadId);
    const connected = other.agent.connectAgent();
    await expect.poll(() => other.agent.messages).toMatchObject([{ role: "user" }, { content: "One. " }]);
    call.say("Two.").finish();
    await Promise.all([done, connected]);
    expect(other.agent.messages).toEqual(agent.messages);
    expect(other.agent.messages.at(-1)).toMatchObject({ content: "One. Two." });
    const late = start(agent.threadId);
    await late.agent.connectAgent();
    expect(late.agent.messages).toEqual(agent.messages);
    const empty = start();
    await empty.agent.connectAgent();
    expect(empty.agent.messages).toEqual([]);
    expect(await service.sessions()).not.toContain(empty.agent.threadId);
  });

  it("sends open interrupts to a client that connects", async () => {
    const { agent, say } = start();
    const asked = say("calculate");
    (await service.model.next()).callTool("calculator", { expression: "1+1" }).finish("tool-calls");
    await asked;
    const other = start(agent.threadId);
    await other.agent.connectAgent();
    expect(other.agent.pendingInterrupts).toEqual(agent.pendingInterrupts);
    expect(other.agent.messages).toEqual(agent.messages);
  });

  it("repeats the answer for the same run id, and regenerates it for another run id", async () => {
    const { agent, say } = start();
    const runId = randomUUID();
    const done = say("hello", { runId });
    (await service.model.next()).say("First.").finish();
    await done;
    const [question] = agent.messages;
    const again = start(agent.threadId);
    again.agent.setMessages([question!]);
    await again.agent.runAgent({ runId });
    expect(again.agent.messages).toEqual(agent.messages);
    again.agent.setMessages([question!]);
    const regenerated = again.agent.runAgent();
    (await service.model.next()).say("Second.").finish();
    await regenerated;
    expect(again.agent.messages).toMatchObject([{ id: question!.id }, { content: "Second." }]);
    expect((await native().getState(agent.threadId)).messages).toHaveLength(2);
  });

  it("replaces a message that is sent again with different text", async () => {
    const { agent, say } = start();
    const done = say("hello");
    (await service.model.next()).say("Hi.").finish();
    await done;
    agent.setMessages([{ ...agent.messages[0]!, content: "goodbye" } as never]);
    const edited = agent.runAgent();
    (await service.model.next()).say("Bye.").finish();
    await edited;
    expect((await native().getState(agent.threadId)).messages.map(({ content }) => content)).toEqual([
      "goodbye",
      "Bye.",
    ]);
  });

  it("stores a repeated message once if its id is not a UUID", async () => {
    const { agent } = start();
    agent.addMessage({ id: "ck-1", role: "user", content: "hello" });
    const runId = randomUUID();
    const done = agent.runAgent({ runId });
    (await service.model.next()).say("Hi.").finish();
    await done;
    agent.setMessages(agent.messages.slice(0, 1));
    await agent.runAgent({ runId });
    expect((await native().getState(agent.threadId)).messages).toHaveLength(2);
  });

  it("keeps the order of messages whose ids are not UUIDs, before and after an interrupt", async () => {
    const { agent } = start();
    agent.addMessage({ id: "ck-1", role: "user", content: "calculate" });
    const asked = agent.runAgent();
    (await service.model.next())
      .say("See. ")
      .callTool("calculator", { expression: "1+1" })
      .finish("tool-calls");
    await asked;
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    const resume = [
      { interruptId: agent.pendingInterrupts[0]!.id, status: "resolved" as const, payload: true },
    ];
    const resumed = agent.runAgent({ resume });
    (await service.model.next()).say("Two.").finish();
    await resumed;
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    await agent.connectAgent();
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("follows a turn that waits for the client when its run is repeated, and keeps the client's state", async () => {
    const { agent, say } = start();
    const runId = randomUUID();
    const asked = say("pick", { tools: [TOOL], runId });
    (await service.model.next()).callTool("pick_colour", { of: "wall" }, "call_0").finish("tool-calls");
    await asked;
    const again = start(agent.threadId);
    again.agent.setMessages(agent.messages.slice(0, 1));
    await again.agent.runAgent({ tools: [TOOL], runId });
    expect(again.agent.messages).toEqual(agent.messages);
    const [call] = (again.agent.messages.at(-1) as { toolCalls: { id: string }[] }).toolCalls;
    again.agent.setState({ colour: "blue" });
    again.agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call!.id, content: "blue" });
    const continued = again.agent.runAgent({ tools: [TOOL] });
    (await service.model.next()).say("Blue.").finish();
    await continued;
    expect(again.agent.messages.at(-1)).toMatchObject({ content: "Blue." });
    expect(again.agent.state).toEqual({ colour: "blue" });
  });

  it("connects after an interrupt was decided elsewhere", async () => {
    const { agent, say } = start();
    const asked = say("calculate");
    (await service.model.next()).callTool("calculator", { expression: "1+1" }).finish("tool-calls");
    await asked;
    await native().decideAction(agent.threadId, agent.pendingInterrupts[0]!.id, { decision: "approve" });
    const connected = agent.connectAgent();
    (await service.model.next()).say("Two.").finish();
    await connected;
    expect(agent.messages.at(-1)).toMatchObject({ content: "Two." });
    expect(agent.pendingInterrupts).toEqual([]);
  });

  it("answers a repeated message whose turn was interrupted while queued", async () => {
    const busy = start();
    const first = busy.say("first");
    await service.model.next();
    const waiting = start(busy.agent.threadId);
    const second = waiting.say("second");
    await expect
      .poll(async () => (await native().getState(busy.agent.threadId)).messages.length)
      .toBeGreaterThan(1);
    await native().interrupt(busy.agent.threadId);
    await Promise.all([first, second]);
    waiting.agent.setMessages(waiting.agent.messages.filter(({ role }) => role === "user"));
    const repeated = waiting.agent.runAgent();
    (await service.model.next()).say("Answered.").finish();
    await repeated;
    expect(waiting.agent.messages.at(-1)).toMatchObject({ content: "Answered." });
  });

  it("passes context to the model as instructions, and stores the state", async () => {
    const { agent, say } = start();
    agent.setState({ wallet: { address: null } });
    const done = say("hello", { context: [{ description: "Page", value: "Invoices" }] });
    const call = await service.model.next();
    expect(call.prompt[0]).toContain("Page: Invoices");
    call.say("Hi.").finish();
    await done;
    const other = start(agent.threadId);
    await other.agent.connectAgent();
    expect(other.agent.state).toEqual({ wallet: { address: null } });
  });

  it("ends with RUN_ERROR if the turn fails, and with the outcome cancelled if it is interrupted", async () => {
    const failed = start();
    const failing = failed.say("hello");
    (await service.model.next()).say("I").finish("error");
    await failing;
    expect(failed.events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "turn_failed" });
    const stopped = start();
    const stopping = stopped.say("hello");
    (await service.model.next()).say("I think");
    await expect.poll(() => stopped.agent.messages.length).toBe(2);
    await native().interrupt(stopped.agent.threadId);
    await stopping;
    expect(stopped.events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  });

  it.each([
    ["a thread id that is not a UUID", { threadId: "my-thread" }, 400, /UUID/],
    ["a blank message", { messages: [{ id: "a", role: "user", content: " " }] }, 400, /blank|empty/],
    [
      "instructions at the end",
      { messages: [{ id: "a", role: "system", content: "be nice" }] },
      400,
      /context/,
    ],
    ["a file", { messages: [{ id: "a", role: "user", content: [{ type: "image" }] }] }, 400, /source/],
    ["a tool without a name", { tools: [{}] }, 400, /name/],
    ["messages that are not an array", { messages: {} }, 400, /messages/],
  ])("rejects %s with a RUN_ERROR body", async (_what, body, status, sentence) => {
    const whole = {
      threadId: randomUUID(),
      runId: "r",
      messages: [{ id: "a", role: "user", content: "hi" }],
      ...body,
    };
    const answer = await fetch(`${service.url}/api/ag-ui`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(whole),
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({
      type: "RUN_ERROR",
      message: expect.stringMatching(sentence),
      code: expect.any(String),
      metadata: { request_id: expect.any(String) },
    });
  });
});
