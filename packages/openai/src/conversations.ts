// Routes of `/v1/conversations`: sessions and their items.

import type { Action, Message, Snapshot, Thread } from "@colloquy/protocol";
import type { ProtocolConversation } from "@colloquy/server/protocol";
import type { FastifyRequest } from "@colloquy/server/protocol";
import { z } from "zod";
import { invalid, unsupported } from "./errors.ts";
import { ANY, checkFields } from "./fields.ts";
import { actionRefId, conversationId, itemId, sessionOfConversation, unknownId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import { functionOutput, outputItem, userItem } from "./output-items.ts";
import { appendTurns } from "./conversation-turn.ts";
import { readItems } from "./response-input.ts";
import {
  answers,
  type App,
  type Body,
  bodyOf,
  CONVERSATION_HEADER,
  ListQuery,
  listOf,
  pageOf,
  type Parts,
  readMetadata,
  TAGS,
  resolveTarget,
  withFiles,
} from "./route-parts.ts";
import { type Entry, turnsOf } from "./transcript.ts";

const MAX_ITEMS = 20;
const ConversationPath = z.object({
  id: z
    .string()
    .refine((id) => sessionOfConversation(id) !== null, "must be the id of a conversation (conv_…)"),
});
const ItemPath = ConversationPath.extend({ item: z.string() });

export function conversationRoutes(app: App, parts: Parts): void {
  createConversation(app, parts);
  conversationByIdRoutes(app, parts);
  itemRoutes(app, parts);
}

function createConversation(app: App, parts: Parts): void {
  app.post(
    "/v1/conversations",
    {
      ...withFiles(parts, {
        session: "body",
        app: "session",
        scope: "chat",
        creates: true,
        counted: "caller",
      }),
      preValidation: resolveTarget(parts, (_body, request) => sessionInHeader(request)),
      schema: {
        operationId: "openaiCreateConversation",
        summary: "Create a conversation",
        description:
          "The conversation belongs to the App of its first response. The header `X-Conversation-Id` sets its id (conv_ and a UUID), so that the request can be retried.",
        tags: TAGS,
        body: bodyOf("Like OpenAI's `POST /v1/conversations`", { metadata: { topic: "sums" } }),
        response: answers("The conversation"),
      },
    },
    async (request) => {
      const { sent } = request.body as Body;
      checkFields(sent, { items: ANY, metadata: ANY });
      const turns = turnsOf(itemsIn(sent));
      if (request.raw.headers[CONVERSATION_HEADER] !== undefined && sessionInHeader(request) === null)
        throw invalid("X-Conversation-Id", "must be the id of a conversation (conv_ and a UUID)");
      const conversation = parts.context.conversation(request);
      await conversation.admitChange();
      const thread = await conversation.create(readMetadata(sent));
      await parts.served.assertOf(conversation);
      // On a retry, the first request may have added the items.
      const isNew = turns.length > 0 && (await conversation.snapshot()).messages.length === 0;
      if (isNew) await appendTurns(conversation, turns);
      return conversationObject(thread);
    },
  );
}

/** Returns the session id in the header `X-Conversation-Id`; `null` if it is absent or malformed. */
function sessionInHeader({ raw }: FastifyRequest): string | null {
  const sent = raw.headers[CONVERSATION_HEADER];
  return typeof sent === "string" ? sessionOfConversation(sent) : null;
}

function conversationByIdRoutes(app: App, parts: Parts): void {
  const common = { session: "path", app: "session", sessionOf: sessionOfConversation } as const;
  const response = answers("The conversation");
  const schema = { tags: TAGS, params: ConversationPath, response };
  app.get(
    "/v1/conversations/:id",
    {
      config: parts.served.accessOf({ ...common, scope: "read" }),
      schema: { ...schema, operationId: "openaiGetConversation", summary: "Get a conversation" },
    },
    async (request) => conversationObject(await threadOf(parts, request)),
  );
  app.post(
    "/v1/conversations/:id",
    {
      config: parts.served.accessOf({ ...common, scope: "chat" }),
      preValidation: resolveTarget(parts, () => null),
      schema: {
        ...schema,
        operationId: "openaiUpdateConversation",
        summary: "Replace the metadata of a conversation",
        body: bodyOf("Like OpenAI's `POST /v1/conversations/{id}`", { metadata: { topic: "sums" } }),
      },
    },
    async (request) => {
      const { sent } = request.body as Body;
      checkFields(sent, { metadata: ANY });
      const { metadata } = await threadOf(parts, request);
      const removed = Object.fromEntries(Object.keys(metadata).map((name) => [name, null]));
      const conversation = parts.context.conversation(request);
      return conversationObject(await conversation.edit({ metadata: { ...removed, ...readMetadata(sent) } }));
    },
  );
  app.delete(
    "/v1/conversations/:id",
    {
      config: parts.served.accessOf({ ...common, scope: "chat" }),
      schema: { ...schema, operationId: "openaiDeleteConversation", summary: "Delete a conversation" },
    },
    async (request) => {
      const { session_id: id } = await threadOf(parts, request);
      await parts.context.conversation(request).remove();
      return { id: conversationId(id.toLowerCase()), object: "conversation.deleted", deleted: true };
    },
  );
}

function itemRoutes(app: App, parts: Parts): void {
  const common = { session: "path", app: "session", sessionOf: sessionOfConversation } as const;
  const response = answers("A list of items");
  app.get(
    "/v1/conversations/:id/items",
    {
      config: parts.served.accessOf({ ...common, scope: "read" }),
      schema: {
        operationId: "openaiListItems",
        summary: "List the items of a conversation",
        tags: TAGS,
        params: ConversationPath,
        querystring: ListQuery,
        response,
      },
    },
    async (request) => pageOf(await storedItems(parts, request), request.query),
  );
  app.post(
    "/v1/conversations/:id/items",
    {
      ...withFiles(parts, { ...common, scope: "chat", counted: "caller" }),
      preValidation: resolveTarget(parts, () => null),
      schema: {
        operationId: "openaiCreateItems",
        summary: "Add items to an idle conversation",
        description: "Stores the messages and calls as finished turns. The model does not run.",
        tags: TAGS,
        params: ConversationPath,
        body: bodyOf("Like OpenAI's `POST /v1/conversations/{id}/items`", {
          items: [{ role: "user", content: "hello" }],
        }),
        response,
      },
    },
    async (request) => {
      const { sent } = request.body as Body;
      checkFields(sent, { items: ANY });
      const turns = turnsOf(itemsIn(sent));
      if (turns.length === 0) throw invalid("items", "must contain a message, a call or an output");
      const before = await storedItems(parts, request);
      const app = (await parts.context.conversation(request).position())?.boundApp;
      const conversation = parts.context.conversation(request, { app });
      await conversation.admitChange();
      await appendTurns(conversation, turns);
      return listOf((await storedItems(parts, request)).slice(before.length), false);
    },
  );
  app.get(
    "/v1/conversations/:id/items/:item",
    {
      config: parts.served.accessOf({ ...common, scope: "read" }),
      schema: {
        operationId: "openaiGetItem",
        summary: "Get an item of a conversation",
        tags: TAGS,
        params: ItemPath,
        response: answers("The item"),
      },
    },
    async (request) => {
      const { item: requestedId } = request.params;
      const found = (await storedItems(parts, request)).find(({ id }) => id === requestedId);
      if (found === undefined) throw unknownId("item", requestedId);
      return found;
    },
  );
  app.delete(
    "/v1/conversations/:id/items/:item",
    {
      config: parts.served.accessOf({ ...common, scope: "chat" }),
      schema: {
        operationId: "openaiDeleteItem",
        summary: "Not supported: always returns 400",
        tags: TAGS,
        params: ItemPath,
        response: answers("Never returned"),
      },
    },
    async (request) => {
      await threadOf(parts, request);
      throw unsupported("item_id", "Items cannot be deleted individually. Delete the conversation.");
    },
  );
}

/** Reads a conversation. Throws a `ServiceError` 404 if it does not exist, or its App is not served. */
async function threadOf(parts: Parts, request: FastifyRequest): Promise<Thread> {
  const conversation = parts.context.conversation(request);
  const thread = await conversation.thread();
  await parts.served.assertOf(conversation);
  return thread;
}

async function storedItems(parts: Parts, request: FastifyRequest): Promise<JsonObject[]> {
  const conversation: ProtocolConversation = parts.context.conversation(request);
  const snapshot = await conversation.snapshot();
  await parts.served.assertOf(conversation);
  return itemsOfSnapshot(snapshot, await conversation.actions());
}

/** Returns all items of a conversation, oldest first. Each call is followed by its output, like function calls. */
function itemsOfSnapshot({ messages, session_id }: Snapshot, actions: readonly Action[]): JsonObject[] {
  const session = session_id.toLowerCase();
  const byCall = new Map(actions.map((action) => [action.call_id, action]));
  return messages.flatMap((message) => {
    if (message.sender === "user") {
      const isPlaceholder = message.content === "" && message.attachments === undefined;
      return isPlaceholder ? [] : [userItem(message, session)];
    }
    return itemsOfAnswer(message, session, byCall);
  });
}

function itemsOfAnswer(answer: Message, session: string, actions: ReadonlyMap<string, Action>): JsonObject[] {
  const { content, tool_calls: calls = [], tool_results: results = [], status } = answer;
  const items: JsonObject[] = [];
  let at = 0;
  const addText = (until: number): void => {
    if (at > 0) while (at < until && content[at] === "\n") at += 1;
    if (at >= until) return;
    const isLast = until === content.length;
    const isDone = !isLast || status !== "streaming";
    const text = content.slice(at, until);
    items.push(outputItem({ kind: "text", start: at, text, isDone, isLast }, answer, session));
    at = until;
  };
  for (const [index, call] of calls.entries()) {
    addText(call.text_offset ?? at);
    const action = actions.get(call.id);
    if (action?.kind === "approval" && action.status === "pending") {
      items.push(outputItem({ kind: "approval", call, action }, answer, session));
      continue;
    }
    const callId = action === undefined ? call.id : actionRefId("call", { session, action: action.id });
    items.push({
      id: itemId("fc", answer.id, index),
      type: "function_call",
      status: "completed",
      call_id: callId,
      name: call.name,
      arguments: JSON.stringify(call.arguments),
    });
    const result = results.find(({ call_id }) => call_id === call.id);
    if (result !== undefined)
      items.push({
        id: itemId("fco", answer.id, index),
        type: "function_call_output",
        status: "completed",
        call_id: callId,
        output: functionOutput(result, session),
      });
  }
  addText(content.length);
  return items;
}

function conversationObject({ session_id: id, created_at, metadata }: Thread): JsonObject {
  return {
    id: conversationId(id.toLowerCase()),
    object: "conversation",
    created_at: Math.floor(Date.parse(created_at) / 1000),
    metadata,
  };
}

function itemsIn({ items = null }: JsonObject): Entry[] {
  if (items === null) return [];
  if (!Array.isArray(items)) throw invalid("items", "must be an array");
  if (items.length > MAX_ITEMS)
    throw invalid("items", `must have at most ${MAX_ITEMS} items; send the others in another request`);
  const entries = readItems(items, "items");
  const index = entries.findIndex(({ kind }) => kind === "instructions" || kind === "decision");
  if (index >= 0)
    throw unsupported(`items[${index}]`, "Send user and assistant messages, function calls and outputs.");
  return entries;
}
