import { hasNotBegun, openCalls, type MessageRecord, type ToolCallRecord } from "../message.ts";
import { defineForTurn } from "./command.ts";
import type { SessionDraft } from "./draft.ts";

/**
 * Stores the intent of allowed calls: they may run after the commit. If the turn starts again, `reopenAndCloseUncertainCalls` closes
 * the unsafe ones as `outcome unknown`, so they never run twice.
 */
export const startCalls = defineForTurn(
  (draft, { turn }, { callIds }: { readonly callIds: readonly string[] }) => {
    markStarted(draft, turn, callIds);
    return "ok" as const;
  },
);

/** Marks allowed calls without a result as started. Emits no event: subscribers see a call as running from its step on. */
export function markStarted(
  draft: SessionDraft,
  { agentMessage }: { readonly agentMessage: MessageRecord },
  callIds: readonly string[],
): MessageRecord {
  const starting = new Set(
    openCalls(agentMessage).filter((call) => hasNotBegun(call) && callIds.includes(call.id)),
  );
  if (starting.size === 0) return agentMessage;
  const toolCalls = agentMessage.toolCalls.map(
    (call): ToolCallRecord => (starting.has(call) ? { ...call, phase: "started" } : call),
  );
  return draft.keepMessage({ ...agentMessage, toolCalls });
}
