// `@langchain/openai` against the service at the URL of the first argument. Prints what it got, as JSON.

import { ChatOpenAI } from "@langchain/openai";

const configuration = { baseURL: process.argv[2] };
const chat = (more = {}) =>
  new ChatOpenAI({ model: "default", apiKey: "any", maxRetries: 0, configuration, ...more });
const textOf = ({ content }) =>
  typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
const streamed = async (model) => {
  let text = "";
  for await (const chunk of await model.stream("count to 4")) text += textOf(chunk);
  return text;
};
const parameters = { type: "object", properties: { location: { type: "string" } } };
const weather = { type: "function", function: { name: "get_weather", description: "Weather", parameters } };
const called = async (model) => {
  const question = ["user", 'call get_weather {"location":"Rome"}'];
  const withTools = model.bindTools([weather]);
  const first = await withTools.invoke([question]);
  const [call] = first.tool_calls;
  const output = { role: "tool", content: "sunny", tool_call_id: call.id };
  return [call.name, call.args, textOf(await withTools.invoke([question, first, output]))];
};

const responses = { useResponsesApi: true };
console.log(
  JSON.stringify({
    chat: textOf(await chat().invoke("what is 12 * 7?")),
    chatStream: await streamed(chat()),
    chatCall: await called(chat()),
    responses: textOf(await chat(responses).invoke("what is 12 * 7?")),
    responsesStream: await streamed(chat(responses)),
    responsesCall: await called(chat(responses)),
  }),
);
