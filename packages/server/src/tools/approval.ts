// Whether a person is asked before a call.

import { isDeepStrictEqual } from "node:util";
import type { ActionRequest } from "../core/action.ts";
import type { ApprovalRule } from "../core/app-settings.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { ToolTurn } from "../core/ports/tool.ts";
import type { CallableTool, CallScope } from "./call-tool.ts";
import { checkSafely } from "./call-tool.ts";
import { toJson } from "./json-output.ts";

/** A rule of the configuration file has this long; then the person is asked. */
const RULE_MS = 10_000;

export interface ApprovalOptions {
  readonly rule: ApprovalRule;
  readonly scope: CallScope;
  readonly clock: Clock;
}

/** The person is not asked, and the call fails with this sentence. */
export interface Refusal {
  readonly kind: "refused";
  readonly message: string;
}

/**
 * What a person is asked before the call, `null` for nothing; see `TurnTools.ask`. What cannot be decided is asked: a call that nobody
 * has looked at must not slip through because a rule was broken. Never rejects.
 */
export async function askBefore(
  callable: CallableTool,
  input: unknown,
  options: ApprovalOptions,
): Promise<ActionRequest | Refusal | null> {
  if ((await checkSafely(callable, input)) !== null) return null;
  const { tool } = callable;
  const { scope } = options;
  try {
    const asked = (await tool.ask?.(input, scope.turn)) ?? null;
    if (asked !== null) return readRequest(asked, scope);
    if (!(await needsApproval(input, options))) return null;
  } catch {
    // As if the rule had said yes.
  }
  try {
    return scrubRequest({ kind: "approval", request: { tool: tool.name, input: toJson(input) } }, scope);
  } catch {
    return { kind: "approval", request: { tool: tool.name, input: "The input cannot be shown." } };
  }
}

/** A wallet does exactly what it is asked: with a part of it blotted out, that would be something else than the tool meant. */
function readRequest(asked: ActionRequest, scope: CallScope): ActionRequest | Refusal {
  const scrubbed = scrubRequest(asked, scope);
  if (asked.kind === "approval" || asked.kind === "question") return scrubbed;
  if (isDeepStrictEqual(scrubbed.request, toJson(asked.request))) return scrubbed;
  const message =
    "The user's wallet was not asked, because the request has a part that reads like one of the user's secrets. It was not sent anywhere.";
  return { kind: "refused", message };
}

async function needsApproval(input: unknown, { rule, scope, clock }: ApprovalOptions): Promise<boolean> {
  if (typeof rule === "string") return rule === "always";
  const stop = new AbortController();
  const outOfTime = clock.sleep(RULE_MS, stop.signal).then(
    () => true,
    () => true,
  );
  try {
    const decided: unknown = await Promise.race([decide(rule, input, scope.turn), outOfTime]);
    return decided !== false;
  } finally {
    stop.abort();
  }
}

/** The rule gets a copy: what it does to the input must not reach the tool. */
async function decide(rule: Exclude<ApprovalRule, string>, input: unknown, turn: ToolTurn): Promise<unknown> {
  return await rule(structuredClone(input), turn);
}

function scrubRequest(asked: ActionRequest, scope: CallScope): ActionRequest {
  // Scrubbing changes texts and nothing of the shape.
  return { kind: asked.kind, request: scope.scrub(toJson(asked.request)) } as ActionRequest;
}
