// Decides what happens to a tool call before it runs: allow, ask a person, or deny.

import type { ActionRequest } from "../core/action.ts";
import type { ApprovalRule } from "../core/app-settings.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import { sameJson, type JsonValue } from "../core/json.ts";
import type { PolicyDecision } from "../core/ports/driven/tool.ts";
import { type CallableTool, type CallScope, checkSafely, refusedCall, shownInput } from "./call-tool.ts";
import { jsonBytes, toJson } from "./json-output.ts";
import { titleOf } from "./tool-title.ts";
import { within } from "../core/waiting.ts";

/** Bytes of JSON that a person can be asked to decide about. */
const MAX_REQUEST_BYTES = 64 * 1_024;
/** Time limit of a rule function from the configuration file, after which a person is asked. */
const RULE_TIMEOUT_MS = 10_000;

export interface ApprovalOptions {
  readonly rule: ApprovalRule;
  readonly scope: CallScope;
  readonly clock: Clock;
}

const WALLET_NOT_ASKED =
  "The user's wallet was not asked, because the request has a part that reads like one of the user's secrets. It was not sent anywhere.";
const CLIENT_NOT_ASKED =
  "The call was not made, because its input has a part that reads like one of the user's secrets. It was not sent anywhere.";
const TOO_LARGE =
  `The user was not asked and the call was not made, because its input has more than ${MAX_REQUEST_BYTES / 1_024} KiB, which nobody can check. ` +
  "Make the input smaller, or split it into several calls.";

/**
 * Implements `TurnTools.decide`. Fails closed: if a rule or a tool's `ask` throws or times out, a person is
 * asked. Never rejects.
 */
export async function decideCall(
  callable: CallableTool,
  input: unknown,
  options: ApprovalOptions,
): Promise<PolicyDecision> {
  const { tool } = callable;
  const { scope } = options;
  const checked = await checkSafely(callable, input);
  if (typeof checked === "string") return { kind: "deny", ...refusedCall(tool, checked, scope) };
  const shown = shownInput(checked.value);
  const more = checked.value === input || sameJson(shown, shownInput(input)) ? {} : { input: shown };
  const ask = (request: ActionRequest): PolicyDecision =>
    jsonBytes(decidedPart(request)) > MAX_REQUEST_BYTES
      ? { kind: "deny", ...refusedCall(tool, TOO_LARGE, scope) }
      : { kind: "ask", request, ...more };
  try {
    const requested = (await tool.ask?.(checked.value, scope.turn)) ?? null;
    if (requested !== null) {
      const request = readRequest(requested, scope);
      if (request === null) {
        const reason = requested.kind === "client_tool" ? CLIENT_NOT_ASKED : WALLET_NOT_ASKED;
        return { kind: "deny", ...refusedCall(tool, reason, scope) };
      }
      return ask(request);
    }
    // The rule gets a copy, so that it cannot change the tool's input. A value parsed by a schema is already
    // a copy.
    const given = checked.value === input ? structuredClone(input) : checked.value;
    if (!(await needsApproval(given, options))) return { kind: "allow", ...more };
  } catch {
    // Fail closed: ask for approval.
  }
  return ask(askFor(tool, shown, scope));
}

/** Returns the part of a request that is shown to a person. */
function decidedPart({ kind, request }: ActionRequest): JsonValue {
  return kind === "approval" ? request.input : (request as JsonValue);
}

/** Returns `null` if a request to a wallet or a client contains a secret: scrubbing it would change what that does. */
function readRequest(requested: ActionRequest, scope: CallScope): ActionRequest | null {
  const request = toJson(requested.request);
  const scrubbed = scope.scrub(request);
  if (requested.kind !== "approval" && requested.kind !== "question" && !sameJson(scrubbed, request))
    return null;
  // Scrubbing changes strings only, so the shape stays the same.
  return { ...requested, request: scrubbed } as ActionRequest;
}

function askFor({ name, title }: CallableTool["tool"], shown: JsonValue, scope: CallScope): ActionRequest {
  const request = scope.scrub({ tool: name, ...titleOf(title), input: shown });
  return { kind: "approval", request } as ActionRequest;
}

async function needsApproval(input: unknown, { rule, scope, clock }: ApprovalOptions): Promise<boolean> {
  if (typeof rule === "string") return rule === "always";
  // An exception of the rule becomes a rejection.
  const applied = (async (): Promise<unknown> => rule(input, scope.turn))();
  return (await within(applied, true, { clock, ms: RULE_TIMEOUT_MS })) !== false;
}
