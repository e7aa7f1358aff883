import { defineForTurn } from "./command.ts";
import { markStarted } from "./start-calls.ts";
import { recordResults, type ToolOutcomeInput } from "./tool-calls.ts";

export interface ToolResultInput {
  readonly outcome: ToolOutcomeInput;
  /** Calls that start in its place. */
  readonly starts: readonly string[];
}

/** Stores the result of a call. A second result of one call changes nothing. */
export const toolResult = defineForTurn((draft, { turn }, { outcome, starts }: ToolResultInput) => {
  const agentMessage = recordResults(draft, turn, [outcome]);
  markStarted(draft, { agentMessage }, starts);
  return "ok" as const;
});
