// `@ai-sdk/open-responses` against the service at the URL of the first argument. Prints what it got, as JSON.

import { createOpenResponses } from "@ai-sdk/open-responses";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const provider = createOpenResponses({
  name: "colloquy",
  url: `${process.argv[2]}/responses`,
  apiKey: "any",
});
const model = provider("default");
const tools = {
  get_weather: tool({
    inputSchema: z.object({ location: z.string() }),
    execute: async ({ location }) => `sunny in ${location}`,
  }),
};
const asked = { model, prompt: 'call get_weather {"location":"Rome"}', stopWhen: stepCountIs(3), tools };

const text = await generateText({ model, prompt: "what is 12 * 7?" });
const history = [
  { role: "user", content: "hello" },
  { role: "assistant", content: "yes?" },
  { role: "user", content: "what did I say first?" },
];
const streamed = streamText({ model, system: "Be brief.", messages: history });
let pieces = 0;
for await (const piece of streamed.textStream) pieces += piece.length > 0 ? 1 : 0;
const called = await generateText(asked);
const streamedCall = streamText(asked);
console.log(
  JSON.stringify({
    text: text.text,
    usage: text.usage.totalTokens > 0,
    streamed: await streamed.text,
    pieces,
    finish: await streamed.finishReason,
    called: [called.text, called.steps.length],
    streamedCall: [await streamedCall.text, (await streamedCall.steps).length],
  }),
);
