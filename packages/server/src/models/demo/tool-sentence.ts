import type { JSONValue, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { isJsonObject } from "../../core/json.ts";

/** Phrases a tool result as a sentence. */
export function sentenceOf(result: LanguageModelV4ToolResultPart): string {
  const { toolName, output } = result;
  switch (output.type) {
    case "error-text":
    case "error-json":
      return endSentence(`The tool ${toolName} reported an error: ${textOf(output.value)}`);
    case "execution-denied":
      return endSentence(
        `The tool ${toolName} was not allowed to run: ${output.reason ?? "no reason was given"}`,
      );
    case "content": {
      const texts = output.value.map((part) => (part.type === "text" ? part.text : `(${part.type})`));
      return endSentence(`The tool ${toolName} answered: ${texts.join(" ")}`);
    }
    case "text":
    case "json":
      return sentenceOfValue(toolName, output.value);
  }
}

function sentenceOfValue(toolName: string, value: JSONValue): string {
  const fields: Readonly<Record<string, unknown>> = isJsonObject(value) ? value : {};
  const field = (name: string): string | null => {
    const found = fields[name];
    return typeof found === "string" || typeof found === "number" ? String(found) : null;
  };
  const [date, time, weekday, timezone] = ["date", "time", "weekday", "timezone"].map(field);
  if (toolName === "current_time" && date && time && weekday && timezone) {
    return `It is ${time} on ${weekday}, ${date} (${timezone}).`;
  }
  const [expression, result] = ["expression", "result"].map(field);
  if (toolName === "calculator" && expression && result) return `${expression} = ${result}.`;
  return endSentence(`The tool ${toolName} answered: ${textOf(value)}`);
}

function textOf(value: JSONValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
