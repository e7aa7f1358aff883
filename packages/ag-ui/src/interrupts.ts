// Converts pending actions to interrupts, and `resume` to decisions (https://docs.ag-ui.com/concepts/interrupts).

import type { Interrupt } from "@ag-ui/core";
import type { Message, PendingAction } from "@colloquy/protocol";
import { isActionResult } from "@colloquy/protocol/action-results";
import { mayUserDecide } from "@colloquy/protocol/may-user-decide";
import { type JsonObject, isJsonObject, ServiceError } from "@colloquy/server/protocol";
import { z } from "zod";
import { callIdOf } from "./ids.ts";

export const ResumeEntry = z.looseObject({
  interruptId: z.string("must be a string"),
  status: z.enum(["resolved", "cancelled"], 'must be "resolved" or "cancelled"'),
  payload: z.unknown().optional(),
});
export type ResumeEntry = z.output<typeof ResumeEntry>;

export interface Decision {
  readonly action: string;
  readonly decision: "approve" | "deny";
  readonly result: JsonObject | null;
}

const APPROVAL = {
  type: "object",
  properties: { approved: { type: "boolean" } },
  required: ["approved"],
};

/** Expected payloads for error messages (docs/api.md#actions). */
const EXPECTED = {
  question: 'must be an object with "answer", a text of 1 to 4,096 characters',
  wallet_transaction: 'must be an object with "transaction_hash"',
  wallet_signature: 'must be an object with "signature"',
} as const;

/**
 * Returns the actions to send as interrupts. Excludes client tool calls, which clients answer with `tool`
 * messages, and actions that only approvers may decide.
 */
export function interruptsIn(pending: readonly PendingAction[]): readonly PendingAction[] {
  return pending.filter((action) => action.kind !== "client_tool" && mayUserDecide(action));
}

/** Converts an action to an interrupt. `answer` is the message with the action's call. */
export function toInterrupt(action: PendingAction, answer: Message | null): Interrupt {
  const index = answer?.tool_calls?.findIndex(({ id }) => id === action.call_id) ?? -1;
  const { id, kind, tool, request, expires_at: expiresAt } = action;
  return {
    id,
    expiresAt,
    metadata: { colloquy: { kind, tool, request } },
    ...(answer !== null && index >= 0 && { toolCallId: callIdOf(answer.id, index) }),
    ...describe(action, answer?.tool_calls?.[index]?.title ?? tool),
  };
}

function describe(
  action: PendingAction,
  title: string,
): Pick<Interrupt, "reason" | "message" | "responseSchema"> {
  switch (action.kind) {
    case "approval":
    case "client_tool":
      return { reason: "tool_call", message: `Allow ${title}?`, responseSchema: APPROVAL };
    case "question": {
      const { question, choices } = action.request;
      const answer = {
        type: "string",
        minLength: 1,
        maxLength: 4096,
        ...(choices.length > 0 && { examples: choices }),
      };
      const responseSchema = { type: "object", properties: { answer }, required: ["answer"] };
      return { reason: "input_required", message: question, responseSchema };
    }
    case "wallet_transaction":
    case "wallet_signature":
      return {
        reason: `colloquy:${action.kind}`,
        message: `${title} needs the wallet.`,
        responseSchema: { type: "object" },
      };
  }
}

/**
 * Returns the decisions in `resume` on the pending interrupts. Ignores entries for interrupts that are not pending,
 * because they repeat an earlier request. Throws `ServiceError` 409 if a pending interrupt has no entry, or 400 if a
 * payload does not match the kind of the interrupt.
 */
export function readResume(
  pending: readonly PendingAction[],
  resume: readonly ResumeEntry[],
): readonly Decision[] {
  const entries = new Map(resume.map((entry) => [entry.interruptId, entry]));
  const open = interruptsIn(pending);
  const missing = open.filter(({ id }) => !entries.has(id));
  if (missing.length > 0) {
    throw new ServiceError(
      409,
      "interrupts_open",
      `The thread waits for a decision. Send "resume" with an entry for each open interrupt: ${missing.map(({ id }) => id).join(", ")}.`,
    );
  }
  return open.flatMap((action) => {
    const entry = entries.get(action.id);
    return entry === undefined ? [] : [decisionOf(action, entry)];
  });
}

function decisionOf({ id: action, kind }: PendingAction, { status, payload }: ResumeEntry): Decision {
  if (status === "cancelled") return { action, decision: "deny", result: null };
  const fields = isJsonObject(payload) ? payload : {};
  if (kind === "approval" || kind === "client_tool") {
    const approved = typeof payload === "boolean" ? payload : fields["approved"];
    if (typeof approved !== "boolean")
      throw invalidPayload(action, 'must be an object with "approved": true or false');
    if (fields["editedArgs"] !== undefined)
      throw invalidPayload(action, 'must not have "editedArgs": calls cannot be edited');
    return { action, decision: approved ? "approve" : "deny", result: null };
  }
  const result = kind === "question" && typeof payload === "string" ? { answer: payload } : fields;
  if (!isActionResult(kind, result)) throw invalidPayload(action, EXPECTED[kind]);
  return { action, decision: "approve", result: { ...result } };
}

function invalidPayload(id: string, expectation: string): ServiceError {
  return new ServiceError(400, "resume_invalid", `The "payload" for the interrupt ${id} ${expectation}.`);
}
