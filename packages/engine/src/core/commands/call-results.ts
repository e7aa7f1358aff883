// Results and progress of tool calls in a draft.

import type { CallDecision } from "@colloquy/protocol";
import { type FileRecord, type NewFile, toAttachment, usedAt } from "../file.ts";
import type { JsonValue } from "../json.ts";
import {
  openCalls,
  type MessageRecord,
  type ToolCallRecord,
  type ToolResultRecord,
  toWireResult,
} from "../message.ts";
import type { ToolOutcome } from "../ports/driven/tool.ts";
import type { SessionDraft } from "./draft.ts";

export interface ToolOutcomeInput extends ToolOutcome {
  readonly callId: string;
  /** New files of the result, with durable bytes. Absent if there are none. */
  readonly files?: readonly NewFile[];
  /** Existing files of the session in a client's result. Absent for none. */
  readonly usedFiles?: readonly FileRecord[];
  /** Milliseconds that the call took. */
  readonly durationMs: number;
  /** The decision that ended the call; absent if it ended otherwise. */
  readonly decision?: CallDecision;
}

/** Stores several results and announces the message once. Ignores further results of a call. */
export function recordResults(
  draft: SessionDraft,
  open: { readonly agentMessage: MessageRecord },
  outcomes: readonly ToolOutcomeInput[],
): MessageRecord {
  const message = open.agentMessage;
  const unanswered = new Map(openCalls(message).map((call) => [call.id, call]));
  const ended = new Map<string, EndedCall>();
  for (const outcome of outcomes) {
    const call = unanswered.get(outcome.callId);
    if (call !== undefined && !ended.has(call.id)) ended.set(call.id, endCall(call, outcome));
  }
  if (ended.size === 0) return message;
  for (const end of ended.values()) emitToolComplete(draft, end);
  const { position } = message;
  const files = [...ended.values()].flatMap(({ files = [] }) => files);
  draft.addedFiles.push(...files.map((file) => ({ ...file, createdAt: draft.at, position, dueAt: null })));
  for (const file of [...ended.values()].flatMap(({ usedFiles = [] }) => usedFiles))
    draft.changedFiles.set(file.id, usedAt(draft.changedFiles.get(file.id) ?? file, position));
  const changed = draft.changeMessage(
    message,
    {
      ...message,
      toolCalls: message.toolCalls.map((call) => ended.get(call.id)?.call ?? call),
      toolResults: [...message.toolResults, ...[...ended.values()].map(({ result }) => result)],
    },
    "message_updated",
  );
  for (const outcome of outcomes) if (ended.has(outcome.callId)) noticeMissingSecret(draft, outcome);
  return changed;
}

export function noticeMissingSecret(
  draft: SessionDraft,
  outcome: Pick<ToolOutcomeInput, "missingSecret"> | undefined,
): void {
  if (outcome?.missingSecret === undefined) return;
  const missing = `The assistant needs the secret "${outcome.missingSecret}", which is not set. Set it and ask again.`;
  draft.addNotice("warning", "secret_missing", missing);
}

export interface EndedCall {
  readonly call: ToolCallRecord;
  readonly result: ToolResultRecord;
  readonly files?: readonly NewFile[];
  readonly usedFiles?: readonly FileRecord[];
}

export function endCall(call: ToolCallRecord, outcome: Omit<ToolOutcomeInput, "callId">): EndedCall {
  const { files = [], usedFiles = [] } = outcome;
  const attachments = [...files, ...usedFiles].map(toAttachment);
  const result = {
    call_id: call.id,
    name: call.name,
    output: outcome.shown ?? outcome.output,
    is_error: outcome.isError,
    duration_ms: outcome.durationMs,
    ...(attachments.length > 0 && { attachments }),
    ...(outcome.shown !== undefined && { told: outcome.output }),
  };
  const { isError, decision } = outcome;
  const ended = { ...call, status: isError ? ("failed" as const) : ("complete" as const) };
  return { call: decision === undefined ? ended : { ...ended, decision }, result, files, usedFiles };
}

export function emitToolComplete(draft: SessionDraft, { call, result }: EndedCall): void {
  const { call_id, name, ...shown } = toWireResult(result);
  const { status, arguments: input } = call;
  draft.emit({ type: "tool_complete", call_id, name, status, arguments: input, result: shown });
}

export function emitToolUpdate(draft: SessionDraft, call: ToolCallRecord, progress: JsonValue | null): void {
  const { id, name, status } = call;
  draft.emit({ type: "tool_update", call_id: id, name, status, arguments: call.arguments, progress });
}
