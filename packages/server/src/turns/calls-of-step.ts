import { TOO_MANY_CALLS } from "../core/decisions/turn-progress.ts";
import type { StepCall } from "../core/message.ts";
import type { TurnTools } from "../core/ports/tool.ts";
import type { ModelStep } from "./model-step.ts";

/** The calls of a finished step as they are to be stored: what their tools do, and what is refused already, because of its arguments. */
export function callsOfStep(
  step: Extract<ModelStep, { kind: "finished" }>,
  number: number,
  definitions: TurnTools["definitions"],
): readonly StepCall[] {
  return step.calls.map((call) => {
    // A tool that is not offered now may be there when the turn is run again: what it does nobody knows.
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

/** Calls beyond those that a step may make: they are kept and told to the model, and nobody is asked about them. */
export function refusedAsTooMany(calls: readonly StepCall[]): readonly StepCall[] {
  const refusal = { output: TOO_MANY_CALLS, isError: true };
  return calls.map((call) => ({ ...call, refusal }));
}
