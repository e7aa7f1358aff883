import type { Attachment } from "@colloquy/protocol";
import { type FileRecord, toAttachment, usableFiles, usedAt } from "../file.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { joinStepText, type MessageRecord, type ToolCallRecord, type ToolResultRecord } from "../message.ts";
import { NO_USAGE } from "../turn.ts";
import { define, dispositionOf } from "./command.ts";
import type { SessionDraft } from "./draft.ts";

/** A call of an appended step. */
export interface AppendedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
  /** `undefined` for a call without a result. */
  readonly output: JsonValue | undefined;
  /** Distinct ids of the output's files; absent if there are none. */
  readonly attachments?: readonly string[];
}

/** A model step of an appended turn. */
export interface AppendedStep {
  readonly text: string;
  readonly calls: readonly AppendedCall[];
}

/** A finished turn that another system has recorded. */
export interface AppendedTurn {
  /** Text of the user's message; empty for a message with only files, or a turn that begins with the answer. */
  readonly user: string;
  /** Distinct ids of the message's files; absent if there are none. */
  readonly attachments?: readonly string[];
  /** Empty for a message without an answer. */
  readonly steps: readonly AppendedStep[];
}

export interface AppendInput {
  readonly turns: readonly AppendedTurn[];
  /** A new UUID. Its last 12 digits are counted up for the ids of the messages. */
  readonly messageId: string;
  /** Maximum UTF-8 bytes of a session's messages as JSON. */
  readonly maxMessageBytes: number;
}

/** Adds finished turns after those of an idle session. Calls no model, and runs no tool. */
export const append = define({
  target: "session",
  needs: ({ turns }: AppendInput) => ({
    turnCount: true,
    files: [...new Set(turns.flatMap(filesIn))],
  }),
  decide: (draft, facts, { turns, messageId, maxMessageBytes }) => {
    if (facts.turnCount().openTurns > 0) return "session_busy";
    let count = 0;
    const nextId = (): string => messageId.slice(0, 24) + (count++).toString(16).padStart(12, "0");
    const { app } = draft.session;
    const found = facts.files();
    for (const turn of turns) {
      const files = usableFiles(found, filesIn(turn), { app, at: draft.at });
      if (typeof files === "string") return files;
      addTurn(draft, turn, files, nextId);
    }
    const { messageBytes } = draft.session;
    return messageBytes !== null && messageBytes > maxMessageBytes ? "session_full" : "ok";
  },
  disposition: dispositionOf,
});

/** Returns the ids of the files of a turn, of which some may repeat. */
export function filesIn({ attachments = [], steps }: AppendedTurn): readonly string[] {
  return [...attachments, ...steps.flatMap(({ calls }) => calls.flatMap((call) => call.attachments ?? []))];
}

function addTurn(
  draft: SessionDraft,
  { user, steps, attachments = [] }: AppendedTurn,
  files: readonly FileRecord[],
  nextId: () => string,
): void {
  const number = draft.session.turnCount + 1;
  const common = { turn: number, status: "complete" } as const;
  const userMessage = draft.addMessage({
    ...common,
    id: nextId(),
    role: "user",
    content: user,
    toolCalls: [],
    toolResults: [],
    ...(attachments.length > 0 && { extras: { attachments: attachmentsOf(attachments, files) } }),
  });
  const answer =
    steps.length === 0 ? null : draft.addMessage({ ...common, id: nextId(), ...answerOf(steps, files) });
  for (const file of files) {
    const { position } = attachments.includes(file.id) || answer === null ? userMessage : answer;
    draft.changedFiles.set(file.id, usedAt(draft.changedFiles.get(file.id) ?? file, position));
  }
  draft.addTurn({
    state: "complete",
    userPosition: userMessage.position,
    agentPosition: answer?.position ?? null,
    attempts: 0,
    steps: steps.length,
    ranMs: 0,
    model: null,
    startedAt: null,
    attemptAt: null,
    epoch: 0,
    runnable: false,
    behindWaiting: false,
    clientId: null,
    options: {},
    usage: NO_USAGE,
    failure: null,
    enqueuedAt: draft.at,
    endedAt: draft.at,
  });
  for (const [index, step] of steps.entries())
    draft.addedSteps.push({
      turn: number,
      step: {
        number: index + 1,
        text: step.text,
        parts: partsOf(step),
        usage: NO_USAGE,
        finishReason: step.calls.length > 0 ? "tool-calls" : "stop",
      },
    });
}

function attachmentsOf(ids: readonly string[], files: readonly FileRecord[]): Attachment[] {
  return ids.flatMap((id) => files.find((file) => file.id === id) ?? []).map(toAttachment);
}

function answerOf(steps: readonly AppendedStep[], files: readonly FileRecord[]) {
  let content = "";
  const toolCalls: ToolCallRecord[] = [];
  const toolResults: ToolResultRecord[] = [];
  for (const [index, { text, calls }] of steps.entries()) {
    content = joinStepText(content, text);
    for (const { id, name, arguments: input, output, attachments = [] } of calls) {
      const status = output === undefined ? "interrupted" : "complete";
      const common = { id, name, arguments: input, status, effect: "read", step: index + 1 } as const;
      toolCalls.push({ ...common, text_offset: content.length });
      if (output !== undefined)
        toolResults.push({
          call_id: id,
          name,
          output,
          is_error: false,
          duration_ms: 0,
          ...(attachments.length > 0 && { attachments: attachmentsOf(attachments, files) }),
        });
    }
  }
  const message: Pick<MessageRecord, "role" | "content" | "toolCalls" | "toolResults"> = {
    role: "assistant",
    content,
    toolCalls,
    toolResults,
  };
  return message;
}

/** Returns the step as AI SDK `AssistantContent`, like that of a model. */
function partsOf({ text, calls }: AppendedStep): JsonObject[] {
  const said = text === "" ? [] : [{ type: "text", text }];
  return [
    ...said,
    ...calls.map(({ id, name, arguments: input }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input,
    })),
  ];
}
