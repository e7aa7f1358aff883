// Compares the service's output with the published schemas: no field is missing, and none is undocumented.

import {
  Action,
  MessageDelta,
  PendingAction,
  PersistedMessage,
  ResolvedAction,
  SessionEvent,
  SetModelResult,
  Snapshot,
  Thread,
} from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MODEL, RecordingSink, recordsOf, startService, until, type TestService } from "./service.ts";
import { FOR_ANYBODY, NO_APP_NAMED } from "./stream-access.ts";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";

/** An id of no UUID version, as clients may choose. */
const ID = "12345678-1234-1234-1234-123456789abc";

let service: TestService;
beforeEach(async () => {
  service = await startService({
    adjust: (config) => {
      const app = config.apps["default"]!;
      const client = { look: { description: "Looks", inputSchema: { type: "object" } } };
      const tools = { ...app.tools, client, approvals: { current_time: "always" as const } };
      return { ...config, apps: { default: { ...app, tools } } };
    },
  });
});
afterEach(() => service.close());

/** The snapshot with a pending action of a person, and one that a client has claimed. */
let asking: Snapshot;

/** Returns a stream, from its start, of a session with every visible kind of event. */
async function fullSession(): Promise<RecordingSink> {
  const sink = new RecordingSink();
  const include = new Set(["tools", "messages", "state"] as const);
  await service.feed.open({ sessionId: ID, access: FOR_ANYBODY, include, lastEventId: null }, sink, null);
  await service.threads.create(ID, "0xa", ANONYMOUS, null);
  await service.say(ID, "one", { publicKey: "0xb", userState: { evm: { chain_id: 1 } } as never });
  (await service.model.next())
    .say("Let me see.")
    .callTool("calculator", { expression: "1+" })
    .finish("tool-calls");
  (await service.model.next()).say("No.").finish();
  await until(async () => !(await service.snapshot(ID)).is_processing);
  await service.say(ID, "what time is it?");
  (await service.model.next()).callTool("current_time", {}).callTool("look", {}).finish("tool-calls");
  await until(async () => (await service.snapshot(ID)).pending_actions.length > 1);
  const [approval, run] = (await service.snapshot(ID)).pending_actions;
  const { claim } = await service.actions.claim(ID, run!.id, {}, null);
  asking = await service.snapshot(ID);
  await service.actions.decide(ID, approval!.id, { decision: "deny", result: null }, null);
  await service.actions.decide(ID, run!.id, { decision: "approve", claim, result: { output: 1 } }, null);
  (await service.model.next()).say("I may not look.").finish();
  await until(async () => !(await service.snapshot(ID)).is_processing);
  await service.say(ID, "two");
  await service.say(ID, "three");
  (await service.model.next()).say("partial");
  await until(async () => (await service.snapshot(ID)).messages.some(({ content }) => content === "partial"));
  await service.conversations.interrupt(ID, ANONYMOUS, null);
  await service.say(ID, "four");
  (await service.model.next()).fail(new Error("broken"));
  await until(async () => !(await service.snapshot(ID)).is_processing);
  return sink;
}

describe("the published schemas", () => {
  it("match a snapshot exactly, at each stage", async () => {
    expect(Snapshot.strict().parse(await service.snapshot(ID))).toMatchObject({
      user_state: null,
      messages: [],
    });
    await fullSession();
    const snapshot = await service.snapshot(ID);
    expect(Snapshot.strict().parse(snapshot)).toEqual(snapshot);
    expect(new Set(snapshot.messages.map(({ status }) => status))).toEqual(
      new Set(["complete", "interrupted", "failed"]),
    );
    expect(snapshot.messages.some(({ tool_results }) => tool_results !== undefined)).toBe(true);
    expect(new Set(snapshot.system_events.map(({ type }) => type))).toEqual(
      new Set(["notice", "interrupted", "error", "action_requested", "action_resolved"]),
    );
    expect(Snapshot.strict().parse(asking)).toEqual(asking);
    expect(asking.pending_actions.map(({ kind }) => kind)).toEqual(["approval", "client_tool"]);
    const actions = await service.actions.list(ID, ANONYMOUS, null);
    expect(actions.map((action) => Action.parse(action))).toEqual(actions);
    for (const { type, payload } of snapshot.system_events) {
      if (type === "action_requested") expect(PendingAction.parse(payload)).toEqual(payload);
      if (type === "action_resolved") expect(ResolvedAction.parse(payload)).toEqual(payload);
    }
  });

  it("match every event", async () => {
    const sink = await fullSession();
    const last = (await service.snapshot(ID)).messages.findLast(({ sender }) => sender === "user");
    await service.say(ID, "five", { replaces: last?.id ?? null });
    const events = [...sink.text.matchAll(/^data: (.*)$/gm)].map(
      ([, data]) => JSON.parse(data!) as { type: string },
    );
    for (const event of events) {
      const { session_id, ...rest } = event as { type: string; session_id: string };
      expect(session_id).toBe(ID);
      expect((event.type === "message_delta" ? MessageDelta : SessionEvent).parse(rest)).toEqual(rest);
    }
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set([...SessionEvent.options.map(({ shape }) => shape.type.value), "message_delta"]),
    );
  });

  it("match threads, stored messages and the result of selecting a model", async () => {
    await fullSession();
    const { models, threads } = service;
    const thread = await threads.get(ID, null);
    expect(Thread.strict().parse(thread)).toEqual(thread);
    for (const record of await recordsOf(service, ID, null, 100, null)) {
      expect(PersistedMessage.strict().parse(record)).toEqual(record);
    }
    const chosen = await models.setModel(
      { ...NO_APP_NAMED, sessionId: ID, rig: MODEL, utilityModel: null },
      null,
    );
    expect(SetModelResult.strict().parse(chosen)).toEqual(chosen);
  });
});
