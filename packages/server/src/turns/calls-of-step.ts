import { TOO_MANY_CALLS } from "../core/commands/step-with-calls.ts";
import type { StepCall } from "../core/message.ts";
import type { TurnTools } from "../core/ports/driven/tool.ts";
import type { ModelStep } from "./model-step.ts";

/**
 * Returns the calls of a finished step to store, with their effects and the refusals of oversized arguments.
 */
export function callsOfStep(
  step: Extract<ModelStep, { kind: "finished" }>,
  number: number,
  definitions: TurnTools["definitions"],
): readonly StepCall[] {
  return step.calls.map((call) => {
    // An unknown tool may exist when the turn is resumed, so assume that it is unsafe.
    const effect = definitions.find(({ name }) => name === call.name)?.effect ?? "unsafe";
    return {
      id: call.id,
      name: call.name,
      arguments: call.input,
      status: "running",
      effect,
      step: number,
      ...(call.refusal !== null && { refusal: { output: call.refusal, isError: true } }),
    };
  });
}

/**
 * Refuses the calls beyond a step's maximum: they are stored and reported to the model, but need no decision.
 */
export function refuseTooMany(calls: readonly StepCall[]): readonly StepCall[] {
  const refusal = { output: TOO_MANY_CALLS, isError: true };
  return calls.map((call) => ({ ...call, refusal }));
}
