// A text that a tool throws is meant for the model and its developers, not for readers of a session.

import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { newId, RecordingSink, recordsOf, startService, until, type TestService } from "./service.ts";
import { FOR_ANYBODY } from "./stream-access.ts";

const THROWN = "connect ECONNREFUSED db.internal:5432";
const lookup = {
  description: "Looks something up",
  inputSchema: z.object({}),
  execute: () => {
    throw new Error(THROWN);
  },
};

let service: TestService;
beforeEach(async () => {
  service = await startService({
    adjust: ({ apps, ...config }) => {
      const app = apps["default"]!;
      return { ...config, apps: { default: { ...app, tools: { ...app.tools, own: { lookup } } } } };
    },
  });
});
afterEach(() => service.close());

it("reaches the model, even in later turns, but no snapshot, record or event", async () => {
  const id = newId();
  const sink = new RecordingSink();
  const include = new Set(["tools", "messages", "state"] as const);
  await service.feed.open({ sessionId: id, access: FOR_ANYBODY, include, lastEventId: "0" }, sink, null);
  await service.say(id, "look it up");
  (await service.model.next()).callTool("lookup", {}, "c1").finish("tool-calls");
  const told = await service.model.next();
  expect(told.prompt.join()).toContain(THROWN);
  told.say("Sorry.").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
  const snapshot = await service.snapshot(id);
  expect(snapshot.messages[1]?.tool_results).toMatchObject([
    { output: "The tool lookup failed.", is_error: true },
  ]);
  await until(() => sink.text.includes("tool_complete"));
  const read = [snapshot, await recordsOf(service, id, null, 10, null), sink.text];
  expect(JSON.stringify(read)).not.toContain(THROWN);
  expect(JSON.stringify(read)).not.toContain("told");
  await service.say(id, "again");
  expect((await service.model.next()).prompt.join()).toContain(THROWN);
});
