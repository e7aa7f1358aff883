import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { newId, startService, until, type TestService } from "../../server/test/service.ts";
import { AppRules } from "../../server/src/http/access/app-rules.ts";
import { Caller } from "../../server/src/http/access/caller.ts";
import { RequestedConversation } from "../../server/src/http/protocol-conversation.ts";
import { answerCalls } from "./chat.ts";
import { readAnswer } from "./ui-message.ts";

let service: TestService;
/** Commands and reads of the store. */
let calls: string[];
let runs: number;
beforeEach(async () => {
  calls = [];
  runs = 0;
  const pay = { inputSchema: z.object({}), execute: () => void (runs += 1) };
  service = await startService({
    beforeCall: (method) => void calls.push(method),
    adjust: (config) => {
      const app = config.apps["default"]!;
      const tools = { ...app.tools, own: { pay }, approvals: { pay: "always" as const } };
      return { ...config, apps: { default: { ...app, tools } } };
    },
  });
});
afterEach(() => service.close());

/** The conversation of an anonymous request, whose charges are noted. */
function conversationOf(id: string) {
  const { keys, users, apps, conversations } = service;
  const caller = new Caller(
    { keys, users, conversations, rules: new AppRules(apps) },
    { session: "body", app: "body", scope: "chat" },
    { key: null, token: null, owner: null },
  );
  caller.setSession(id);
  const admission = { change: () => null, written: () => void calls.push("admit") };
  const request = { caller, id: "request", ip: "127.0.0.1", socket: {} };
  return new RequestedConversation({ services: service, admission } as never, request as never);
}

it("creates no session in place of one that is deleted while its calls are answered", async () => {
  const { conversations, threads, store } = service;
  const id = newId();
  await service.say(id, "hello");
  (await service.model.next()).say("hi").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
  const [, answer] = (await service.snapshot(id)).messages;
  const position = conversations.position.bind(conversations);
  conversations.position = async (...parameters) => {
    const found = await position(...parameters);
    if (found !== null) await threads.remove(id, null);
    return found;
  };
  const sent = { kind: "answer", id: answer!.id, ...readAnswer([]) } as const;
  const answered = answerCalls(conversationOf(id), sent);
  await expect(answered).rejects.toMatchObject({ status: 404, code: "session_deleted" });
  expect(await store.sessions.find(id)).toBeNull();
});

it("runs one command for a pending action, however often and beside whatever a client answers it", async () => {
  const id = newId();
  await service.say(id, "pay twice");
  (await service.model.next()).callTool("pay", {}, "c1").callTool("pay", {}, "c2").finish("tool-calls");
  await until(async () => (await service.snapshot(id)).pending_actions.length === 2);
  const { messages, pending_actions } = await service.snapshot(id);
  const [first] = pending_actions;
  const decision = (approval: string, approved: boolean) => ({
    type: "dynamic-tool",
    toolCallId: "c1",
    state: "approval-responded",
    approval: { id: approval, approved },
  });
  const parts = [
    ...Array.from({ length: 5_000 }, () => decision(newId(), true)),
    ...Array.from({ length: 5_000 }, (_, index) => decision(first!.id, index === 0)),
    ...Array.from({ length: 5_000 }, () => ({ type: "tool-x", toolCallId: "c1", state: "output-available" })),
  ];
  calls.length = 0;
  const sent = { kind: "answer", id: messages[1]!.id, ...readAnswer(parts) } as const;
  const start = await answerCalls(conversationOf(id), sent);
  expect(start.state.answers[0]?.id).toBe(sent.id);
  expect(calls.filter((method) => method === "decideAction")).toHaveLength(1);
  expect(calls.filter((method) => method === "admit")).toHaveLength(1);
  expect(calls.length).toBeLessThan(10);
  const { pending_actions: left } = await service.snapshot(id);
  expect(left.map(({ call_id }) => call_id)).toEqual(["c2"]);
});
