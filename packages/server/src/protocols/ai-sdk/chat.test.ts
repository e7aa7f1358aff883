import { afterEach, beforeEach, expect, it } from "vitest";
import { newId, startService, until, type TestService } from "../../../test/service.ts";
import { SERVICE_ACTOR } from "../../core/audit.ts";
import { ANONYMOUS } from "../../core/session-access.ts";
import { answerCalls } from "./chat.ts";
import { readAnswer } from "./ui-message.ts";

let service: TestService;
beforeEach(async () => {
  service = await startService();
});
afterEach(() => service.close());

it("creates no session in place of one that is deleted while its calls are answered", async () => {
  const { conversations, actions, threads, store } = service;
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
  const answered = answerCalls(
    { conversations, actions },
    { sessionId: id, access: ANONYMOUS, by: SERVICE_ACTOR },
    sent,
  );
  await expect(answered).rejects.toMatchObject({ status: 404, code: "session_deleted" });
  expect(await store.sessions.find(id)).toBeNull();
});
