// What may become of a call: it runs, a person is asked before, or it is never made.

import type { ActionRequest } from "../core/action.ts";
import type { ApprovalRule } from "../core/app-settings.ts";
import type { Clock } from "../core/ports/clock.ts";
import { sameJson, type JsonValue } from "../core/json.ts";
import type { CallVerdict, ToolTurn } from "../core/ports/tool.ts";
import type { CallableTool, CallScope } from "./call-tool.ts";
import { checkSafely, refusedCall } from "./call-tool.ts";
import { toJson } from "./json-output.ts";
import { shownInput } from "./judged-input.ts";

/** A rule of the configuration file has this long; then the person is asked. */
const RULE_MS = 10_000;

export interface ApprovalOptions {
  readonly rule: ApprovalRule;
  readonly scope: CallScope;
  readonly clock: Clock;
}

const WALLET_NOT_ASKED =
  "The user's wallet was not asked, because the request has a part that reads like one of the user's secrets. It was not sent anywhere.";

/**
 * See `TurnTools.judge`. What cannot be decided is asked: a call that nobody has looked at must not slip through because a rule was
 * broken. Never rejects.
 */
export async function judgeCall(
  callable: CallableTool,
  input: unknown,
  options: ApprovalOptions,
): Promise<CallVerdict> {
  const { tool } = callable;
  const { scope } = options;
  const checked = await checkSafely(callable, input);
  if (typeof checked === "string") return { kind: "refused", ...refusedCall(tool, checked, scope) };
  const shown = shownInput(checked.value);
  const more = checked.value === input || sameJson(shown, shownInput(input)) ? {} : { input: shown };
  try {
    const asked = (await tool.ask?.(checked.value, scope.turn)) ?? null;
    if (asked !== null) {
      const request = readRequest(asked, scope);
      if (request === null) return { kind: "refused", ...refusedCall(tool, WALLET_NOT_ASKED, scope) };
      return { kind: "asks", request, ...more };
    }
    // The rule gets a copy: what it does to the input must not reach the tool. What a schema has made is nobody else's.
    const given = checked.value === input ? structuredClone(input) : checked.value;
    if (!(await needsApproval(given, options))) return { kind: "runs", ...more };
  } catch {
    // As if the rule had said yes.
  }
  return { kind: "asks", request: askFor(tool.name, shown, scope), ...more };
}

/** `null` where a wallet must not be asked: it does exactly what it is asked, and with a part blotted out that would be something else. */
function readRequest(asked: ActionRequest, scope: CallScope): ActionRequest | null {
  const request = toJson(asked.request);
  const scrubbed = scope.scrub(request);
  if (asked.kind !== "approval" && asked.kind !== "question" && !sameJson(scrubbed, request)) return null;
  // Scrubbing changes texts and nothing of the shape.
  return { kind: asked.kind, request: scrubbed } as ActionRequest;
}

function askFor(tool: string, shown: JsonValue, scope: CallScope): ActionRequest {
  const request = scope.scrub({ tool, input: shown });
  return { kind: "approval", request } as ActionRequest;
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

async function decide(rule: Exclude<ApprovalRule, string>, input: unknown, turn: ToolTurn): Promise<unknown> {
  return await rule(input, turn);
}
