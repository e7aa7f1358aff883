import type { JsonValue } from "../json.ts";
import { defineForTurn } from "./command.ts";
import { emitToolUpdate } from "./call-results.ts";

export interface ToolProgressInput {
  readonly callId: string;
  readonly progress: JsonValue;
}

/** Reports progress of a running call. */
export const toolProgress = defineForTurn((draft, { turn }, { callId, progress }: ToolProgressInput) => {
  const call = turn.agentMessage.toolCalls.find(({ id, status }) => id === callId && status === "running");
  if (call !== undefined) emitToolUpdate(draft, call, progress);
  return "ok" as const;
});
