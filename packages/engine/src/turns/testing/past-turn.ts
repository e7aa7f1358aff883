// Creates ended turns for tests of histories.

import type { Attachment } from "@colloquy/protocol";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { MessageRecord } from "../../core/message.ts";
import type { PastTurn } from "../../core/ports/driven/store.ts";
import { NO_USAGE, type StepRecord, type TurnState } from "../../core/turn.ts";

export interface PastSpec {
  readonly user: string;
  readonly state?: TurnState;
  /** Text and call ids of each step. */
  readonly steps?: readonly (readonly [text: string, calls?: readonly string[]])[];
  /** Results by call id; by default, one for each call. */
  readonly results?: Readonly<Record<string, JsonValue>>;
  /** Ids of calls that failed. */
  readonly errors?: readonly string[];
  /** Text after the finished steps. */
  readonly rest?: string;
  readonly files?: readonly Attachment[];
  /** True for a turn without an agent message. */
  readonly unanswered?: boolean;
  /** Summary of the conversation through this turn. */
  readonly summary?: string;
}

export function pastTurn(number: number, spec: PastSpec): PastTurn {
  const message = (role: "user" | "assistant", content: string): MessageRecord => ({
    position: number,
    id: `${role}-${number}`,
    turn: number,
    role,
    content,
    status: "complete",
    toolCalls: [],
    toolResults: [],
    createdAt: 0,
  });
  const steps = (spec.steps ?? []).map(([text, calls = []], index): StepRecord => {
    const parts: JsonObject[] = text === "" ? [] : [{ type: "text", text }];
    parts.push(
      ...calls.map((id) => ({ type: "tool-call", toolCallId: id, toolName: "tool", input: { of: id } })),
    );
    return { number: index + 1, text, parts, usage: NO_USAGE, finishReason: "stop" };
  });
  const ids = (spec.steps ?? []).flatMap(([, calls = []]) => calls);
  const results = spec.results ?? Object.fromEntries(ids.map((id) => [id, `result of ${id}`]));
  const said = steps.map(({ text }) => text).filter((text) => text !== "");
  const content = [...said, ...(spec.rest === undefined ? [] : [spec.rest])].join("\n\n");
  return {
    number,
    state: spec.state ?? "complete",
    userMessage: {
      ...message("user", spec.user),
      ...(spec.files !== undefined && { extras: { attachments: spec.files } }),
    },
    agentMessage:
      spec.unanswered === true
        ? null
        : {
            ...message("assistant", content),
            toolResults: Object.entries(results).map(([id, output]) => ({
              call_id: id,
              name: "tool",
              output,
              is_error: spec.errors?.includes(id) === true,
              duration_ms: 1,
            })),
            ...(spec.summary !== undefined && {
              summary: { text: spec.summary, tokensBefore: 100, tokensAfter: 10, at: 0 },
            }),
          },
    steps,
  };
}
