import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import type { Tool } from "../../core/ports/driven/tool.ts";
import { ModelCaller, type ModelStep } from "../model-step.ts";

export const caller = new ModelCaller();
const calculator: Tool = {
  name: "calculator",
  description: "Calculates",
  inputSchema: { type: "object", properties: { expression: { type: "string" } } },
  effect: "read",
  execute: () => Promise.reject(new Error("The step must not run tools")),
};
export const tools = [calculator];

interface Asked {
  readonly model: ScriptedModel;
  readonly step: Promise<ModelStep>;
  readonly heard: string[];
  readonly controller: AbortController;
  progress: number;
}

export function ask(
  options: { usedCallIds?: readonly string[]; argumentBytes?: number; model?: LanguageModelV4 } = {},
): Asked {
  const model = new ScriptedModel();
  const controller = new AbortController();
  const heard: string[] = [];
  const step = caller.call({
    model: options.model ?? model,
    instructions: "Be brief.",
    messages: [{ role: "user", content: "Hello" }],
    tools,
    usedCallIds: options.usedCallIds ?? [],
    argumentBytes: options.argumentBytes ?? 0,
    signal: controller.signal,
    onText: (text) => heard.push(text),
    onProgress: () => void (asked.progress += 1),
  });
  const asked: Asked = { model, step, heard, controller, progress: 0 };
  return asked;
}

/** Runs a step whose model sends exactly these parts. */
export async function stepOf(
  ...said: readonly (LanguageModelV4StreamPart | { readonly argumentBytes: number })[]
) {
  const parts = said.filter((part) => "type" in part);
  const asked = ask(said.find((part) => "argumentBytes" in part));
  const call = await asked.model.next();
  call.emit(...parts).finish();
  const step = await asked.step;
  if (step.kind !== "finished") throw new Error(`The step ${step.kind}`);
  return { step, heard: asked.heard };
}

export function callPart(
  toolCallId: string,
  input: object,
  toolName = "calculator",
): LanguageModelV4StreamPart {
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
}

export function textParts(id: string, ...deltas: readonly string[]): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id },
    ...deltas.map((delta) => ({ type: "text-delta" as const, id, delta })),
    { type: "text-end", id },
  ];
}
