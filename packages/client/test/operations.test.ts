// Every operation of the client against the service.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Client } from "../src/index.ts";
import { serve, type Served } from "./served.ts";

let served: Served;
let client: Client;

beforeAll(async () => {
  served = await serve();
  client = served.client();
});
afterAll(() => served.stop());

/** Methods that are not named after an operation: `renameThread` is the one that changes metadata. */
const OTHERS = ["session", "changeMetadata", "listApprovals", "decideApproval"];

it("has a method for every operation of the OpenAPI document", async () => {
  const document = (await (await fetch(`${served.url}/openapi.json`)).json()) as {
    readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
  };
  const operations = Object.entries(document.paths)
    // Other protocols have their own clients.
    .filter(([path]) => path.startsWith("/api/") && !/^\/api\/(?:ai-sdk|ag-ui)/.test(path))
    .flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId))
    // Clients of the original send secrets in this way.
    .filter((operation) => operation !== "ingestSecrets" && operation !== "removeSecret");
  expect(operations.length).toBeGreaterThan(15);
  // A live session uses the event stream.
  const methods = [...Object.keys(client).filter((name) => !OTHERS.includes(name)), "subscribe"];
  expect(methods.toSorted()).toEqual(operations.toSorted());
});

it("creates, reads, lists, renames and deletes sessions", async () => {
  const publicKey = `0x${randomUUID().replaceAll("-", "")}`;
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  for (const id of ids) await client.createSession(id, { publicKey });
  expect(await client.getSession(ids[0]!)).toMatchObject({
    session_id: ids[0],
    title: "New Chat",
    app: "default",
  });
  const first = await client.listThreads(publicKey, { limit: 2 });
  expect(first.threads.map(({ session_id }) => session_id)).toEqual([ids[2], ids[1]]);
  const second = await client.listThreads(publicKey, { limit: 2, cursor: first.next! });
  expect(second.threads.map(({ session_id }) => session_id)).toEqual([ids[0]]);
  expect(second.next).toBeNull();
  expect((await client.renameThread(ids[0]!, "Tea")).title).toBe("Tea");
  const metadata = { project: "tea", n: 1 };
  expect((await client.changeMetadata(ids[0]!, metadata)).metadata).toEqual(metadata);
  expect((await client.listThreads(publicKey, { metadata: { project: "tea" } })).threads).toMatchObject([
    { session_id: ids[0], metadata },
  ]);
  expect((await client.changeMetadata(ids[0]!, null)).metadata).toEqual({});
  const named = await client.createSession(randomUUID(), { metadata });
  expect(named.metadata).toEqual(metadata);
  expect((await client.pinThread(ids[0]!)).pinned).toBe(true);
  expect((await client.unpinThread(ids[0]!)).pinned).toBe(false);
  const copy = await client.forkThread(ids[0]!);
  expect(copy).toMatchObject({ title: "Tea", session_id: expect.not.stringMatching(ids[0]!) });
  expect(
    await client
      .forkThread(copy.session_id, { newId: ids[0]!, through: randomUUID() })
      .catch((error) => error),
  ).toMatchObject({
    status: 409,
    code: "session_not_empty",
  });
  await client.deleteThread(ids[0]!);
  await expect(client.getSession(ids[0]!)).rejects.toMatchObject({ status: 404, code: "session_not_found" });
});

it("sends, reads and stops messages", async () => {
  const id = randomUUID();
  const sending = client.sendMessage(id, "Grüße 🫖", { wait: true, userState: { evm: { chain_id: 1 } } });
  (await served.model.next()).say("Hello").finish();
  expect((await sending).messages.map(({ content }) => content)).toEqual(["Grüße 🫖", "Hello"]);
  expect((await client.getState(id, { userState: { a: 1 } })).user_state).toEqual({
    a: 1,
    evm: { chain_id: 1 },
  });
  const records = await client.listMessages(id);
  expect(records.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(await client.listMessages(id, { after: records[0]!.id, limit: 5 })).toEqual([records[1]]);
  await client.sendMessage(id, "On");
  await served.model.next();
  expect((await client.interrupt(id)).status).toBe("interrupted");
});

it("lists and selects models and Apps", async () => {
  const id = randomUUID();
  expect(await client.listModels()).toEqual(["test/scripted", "demo/assistant"]);
  expect(await client.listModels({ sessionId: id })).toContain("demo/assistant");
  expect(await client.setModel(id, "demo/assistant", { baml: "demo/assistant" })).toEqual({
    success: true,
    rig: "demo/assistant",
    baml: "demo/assistant",
    // Listing the models created the session.
    created: false,
  });
  expect(await client.listApps()).toMatchObject([{ name: "default" }]);
  await expect(client.setModel(id, "no/model")).rejects.toMatchObject({ status: 400, code: "unknown_model" });
});

it("lists and decides actions", async () => {
  const id = randomUUID();
  await client.sendMessage(id, "Sum");
  (await served.model.next()).callTool("calculator", { expression: "1 + 1" }).finish("tool-calls");
  let actions = await client.listActions(id);
  while (actions.length === 0) actions = await client.listActions(id);
  const [action] = actions;
  expect(action).toMatchObject({ kind: "approval", status: "pending", tool: "calculator" });
  expect(await client.decideAction(id, action!.id, { decision: "deny" })).toMatchObject({ status: "denied" });
  await expect(client.decideAction(id, action!.id, { decision: "approve" })).rejects.toMatchObject({
    code: "action_decided",
  });
  (await served.model.next()).say("So be it").finish();
});

it("waits until a decision is needed, in send, resolve and refresh", { timeout: 45_000 }, async () => {
  const session = client.session(randomUUID());
  const ask = async () => {
    (await served.model.next()).callTool("calculator", { expression: "1 + 1" }).finish("tool-calls");
  };
  const approve = { decision: "approve" } as const;
  const [sent] = await Promise.all([session.send("Sum", { wait: true }), ask()]);
  const [first] = sent.pending_actions;
  // Returns at once, because the action is already pending.
  expect(await session.refresh({ wait: true })).toMatchObject({ pending_actions: [{ id: first!.id }] });
  const [resolved] = await Promise.all([session.resolve(first!.id, approve, { wait: true }), ask()]);
  const [second] = resolved.pending_actions;
  expect(second!.id).not.toBe(first!.id);
  const last = session.resolve(second!.id, approve, { wait: true });
  (await served.model.next()).say("Two").finish();
  expect(await last).toMatchObject({ is_processing: false, pending_actions: [] });
  expect((await last).messages.at(-1)?.content).toBe("Two");
});

it("stores secrets and returns only their names", async () => {
  expect(await client.listSecrets({ clientId: "me" })).toEqual([]);
  await expect(client.setSecrets({ NONE: "x" }, { clientId: "me" })).rejects.toMatchObject({
    code: "secret_slot_unknown",
  });
  expect(await client.removeSecrets({ clientId: "me" })).toBe(0);
});

it("stores a message once if the response was lost", async () => {
  const id = randomUUID();
  let lost = 0;
  served.proxy.plan = ({ path }) => (path === "/api/chat" && (lost += 1) <= 2 ? "lose" : null);
  let isSent = false;
  const sending = client.sendMessage(id, "Once").then((snapshot) => {
    isSent = true;
    return snapshot;
  });
  await served.until(() => isSent, 100);
  served.proxy.plan = () => null;
  expect(lost).toBe(3);
  expect((await sending).messages.filter(({ sender }) => sender === "user")).toHaveLength(1);
  (await served.model.next()).finish();
});
