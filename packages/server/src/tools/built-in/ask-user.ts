import { isJsonObject } from "../../core/json.ts";
import type { Tool } from "../../core/ports/driven/tool.ts";

const maximumQuestionLength = 2_000;
const maximumChoices = 20;
const maximumChoiceLength = 200;

/** Asks the person a question; the answer becomes the result of the call. */
export const askUser: Tool = {
  name: "ask_user",
  description:
    "Asks the user a question and waits for the answer. Use it when you cannot go on without knowing; otherwise just answer.",
  inputSchema: {
    type: "object",
    properties: {
      question: {
        type: "string",
        description: "The question, as the user is to read it.",
        minLength: 1,
        maxLength: maximumQuestionLength,
      },
      choices: {
        type: "array",
        description: "Answers to choose from; leave it out for a free answer.",
        items: { type: "string", minLength: 1, maxLength: maximumChoiceLength },
        maxItems: maximumChoices,
      },
    },
    required: ["question"],
    additionalProperties: false,
  },
  effect: "read",
  ask(input) {
    const { question, choices } = isJsonObject(input) ? input : {};
    if (typeof question !== "string") return null;
    const offered = Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : [];
    return { kind: "question", request: { question, choices: offered } };
  },
  async execute() {
    throw new Error("The user was not asked. Ask the question in your answer instead.");
  },
};
