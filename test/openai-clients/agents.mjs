// `@openai/agents` against the service at the URL of the first argument. Prints what it got, as JSON.

import {
  Agent,
  OpenAIConversationsSession,
  run,
  setDefaultOpenAIClient,
  setOpenAIAPI,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "any", maxRetries: 0 });
setTracingDisabled(true);
setDefaultOpenAIClient(client);

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const weather = tool({
  name: "get_weather",
  description: "Weather",
  parameters: z.object({ location: z.string() }),
  execute: async ({ location }) => `sunny in ${location}`,
});
const camera = tool({
  name: "look",
  description: "Takes a picture",
  parameters: z.object({}),
  execute: async () => ({
    type: "image",
    image: `data:image/png;base64,${PNG}`,
  }),
});
const seeing = new Agent({ name: "seeing", model: "default", tools: [camera] });
const plain = new Agent({ name: "plain", model: "default", instructions: "Be brief." });
const agent = new Agent({ name: "weather", model: "default", instructions: "Be brief.", tools: [weather] });
const question = 'call get_weather {"location":"Rome"}';

const text = await run(plain, "what is 12 * 7?");
const called = await run(agent, question);
const streaming = await run(agent, question, { stream: true });
let streamed = "";
for await (const piece of streaming.toTextStream()) streamed += piece;
await streaming.completed;

const session = new OpenAIConversationsSession({ client });
await run(agent, question, { session });
const second = await run(agent, "what did I say first?", { session });
const items = await session.getItems();
const id = await session.getSessionId();

const previous = await run(plain, "hello", {});
const next = await run(plain, "what did I say first?", { previousResponseId: previous.lastResponseId });
const conversation = await client.conversations.create();
await run(plain, "hello", { conversationId: conversation.id });
const inConversation = await run(plain, "what did I say first?", { conversationId: conversation.id });

await run(seeing, "call look {}", { conversationId: conversation.id });
const headers = { "X-Session-Id": conversation.id.slice("conv_".length) };
const state = await (await fetch(new URL("/api/state", process.argv[2]), { headers })).json();
const seen = state.messages
  .at(-1)
  .tool_results.map(({ output, attachments }) => [output, attachments?.[0].media_type]);

setOpenAIAPI("chat_completions");
const chat = await run(agent, question);
console.log(
  JSON.stringify({
    text: text.finalOutput,
    called: called.finalOutput,
    streamed,
    session: [second.finalOutput, items.map(({ type }) => type)],
    id,
    next: next.finalOutput,
    inConversation: inConversation.finalOutput,
    seen,
    chat: chat.finalOutput,
  }),
);
