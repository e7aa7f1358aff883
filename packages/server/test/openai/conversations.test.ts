// Tests of conversations with the unmodified `openai` package.

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { refusalOf, useOpenAI } from "./openai-service.ts";

const service = useOpenAI();

describe("a conversation", () => {
  it("is created with items, which are passed to the model", async () => {
    const { client, model } = service();
    const { id, metadata } = await client.conversations.create({
      items: [
        { type: "message", role: "user", content: "The word is tulip." },
        { type: "message", role: "assistant", content: "Noted." },
      ],
      metadata: { topic: "words" },
    });
    expect(metadata).toEqual({ topic: "words" });
    const response = client.responses.create({ model: "default", conversation: id, input: "Which word?" });
    const call = await model.next();
    expect(call.prompt.join()).toContain("tulip");
    call.say("Tulip.").finish();
    expect((await response).conversation).toEqual({ id });
  });

  it("can get new metadata, and can be deleted", async () => {
    const { client } = service();
    const { id } = await client.conversations.create({ metadata: { a: "1", b: "2" } });
    expect((await client.conversations.update(id, { metadata: { c: "3" } })).metadata).toEqual({ c: "3" });
    expect((await client.conversations.retrieve(id)).metadata).toEqual({ c: "3" });
    expect(await client.conversations.delete(id)).toMatchObject({ id, deleted: true });
    expect(await refusalOf(client.conversations.retrieve(id))).toMatchObject({ status: 404 });
  });

  it("accepts an id chosen by the client", async () => {
    const { client, model } = service();
    const conversation = `conv_${randomUUID()}`;
    const response = client.responses.create({ model: "default", conversation, input: "hello" });
    (await model.next()).say("Hi").finish();
    await response;
    expect((await client.conversations.retrieve(conversation)).id).toBe(conversation);
  });

  it("ignores the history in a request", async () => {
    const { client, model } = service();
    const { id } = await client.conversations.create({
      items: [{ role: "user", content: "The word is tulip." }],
    });
    const response = client.responses.create({
      model: "default",
      conversation: id,
      input: [
        { role: "user", content: "The word is rose." },
        { role: "assistant", content: "Rose." },
        { role: "user", content: "Which word?" },
      ],
    });
    const call = await model.next();
    expect(call.prompt.join()).toContain("tulip");
    expect(call.prompt.join()).not.toContain("rose");
    call.say("Tulip.").finish();
    await response;
  });
});

describe("the items of a conversation", () => {
  const ITEMS = [
    { type: "message" as const, role: "user" as const, content: "Look" },
    { type: "function_call" as const, call_id: "c1", name: "look", arguments: '{"at":"sky"}' },
    { type: "function_call_output" as const, call_id: "c1", output: "blue" },
    { type: "message" as const, role: "assistant" as const, content: "It is blue." },
  ];

  it("have stable ids", async () => {
    const { client } = service();
    const { id } = await client.conversations.create();
    const created = await client.conversations.items.create(id, { items: ITEMS });
    expect(created.data).toMatchObject([
      { role: "user", content: [{ text: "Look" }] },
      { type: "function_call", call_id: "c1", name: "look", arguments: '{"at":"sky"}' },
      { type: "function_call_output", call_id: "c1", output: "blue" },
      { role: "assistant", content: [{ text: "It is blue." }] },
    ]);
    const listed = await client.conversations.items.list(id, { order: "asc" });
    expect(listed.data).toEqual(created.data);
    const second = listed.data[1]!;
    expect(await client.conversations.items.retrieve(second.id!, { conversation_id: id })).toEqual(second);
  });

  it("are paginated, newest first", async () => {
    const { client } = service();
    const items = Array.from({ length: 5 }, (_, index) => ({
      role: "user" as const,
      content: `message ${index}`,
    }));
    const { id } = await client.conversations.create({ items });
    const texts: unknown[] = [];
    for await (const item of client.conversations.items.list(id, { limit: 2 }))
      if (item.type === "message")
        texts.push(item.content.map((part) => ("text" in part ? part.text : "")).join());
    expect(texts).toEqual(["message 4", "message 3", "message 2", "message 1", "message 0"]);
  });

  it("cannot be deleted individually, or added during an answer", async () => {
    const { client, model } = service();
    const { id } = await client.conversations.create({ items: ITEMS });
    const [item] = (await client.conversations.items.list(id)).data;
    expect(
      await refusalOf(client.conversations.items.delete(item!.id!, { conversation_id: id })),
    ).toMatchObject({ status: 400, param: "item_id" });
    const response = client.responses.create({ model: "default", conversation: id, input: "hello" });
    const call = await model.next();
    expect(await refusalOf(client.conversations.items.create(id, { items: ITEMS }))).toMatchObject({
      status: 409,
      code: "session_busy",
    });
    call.say("Hi").finish();
    await response;
  });

  it.each([
    [[{ role: "system", content: "x" }], "items[0]"],
    [[{ type: "computer_call", id: "x" }], "items[0].type"],
    [[], "items"],
    ["x", "items"],
  ])("reject %j with a 400 for the field", async (items, param) => {
    const { client } = service();
    const { id } = await client.conversations.create();
    expect(await refusalOf(client.conversations.items.create(id, { items: items as never }))).toMatchObject({
      status: 400,
      param,
    });
  });
});
