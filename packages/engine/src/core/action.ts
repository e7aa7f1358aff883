// Actions: stored requests that a person must decide. Each belongs to one tool call of one turn.

import type { Action, ApproverAction, PendingAction } from "@colloquy/protocol";
import { ATTACHMENTS_MAX } from "@colloquy/protocol/action-results";
import { mayUserDecide } from "@colloquy/protocol/may-user-decide";
import { bigint, type Fields, json, pair, type RecordOf, text } from "./field.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** The request of an action, with the field names of the wire. */
export type ActionRequest =
  /** Approve a call with exactly this input. */
  | {
      readonly kind: "approval";
      readonly request: { readonly tool: string; readonly title?: string; readonly input: JsonValue };
    }
  /**
   * Send a transaction. `value` is decimal, in the smallest unit of `currency`; `data` is hexadecimal; `call`
   * is the decoded `data`, or `null` if it cannot be decoded. Old actions lack `currency` and `call`.
   */
  | {
      readonly kind: "wallet_transaction";
      readonly request: {
        readonly to: string;
        readonly value: string;
        readonly data: string;
        readonly chain_id: number;
        readonly currency?: { readonly symbol: string; readonly decimals: number };
        readonly call?: DescribedCall | null;
      };
    }
  /** Sign typed data (EIP-712). */
  | { readonly kind: "wallet_signature"; readonly request: { readonly typed_data: JsonObject } }
  | {
      readonly kind: "question";
      readonly request: { readonly question: string; readonly choices: readonly string[] };
    }
  /** Run a call in the client. */
  | {
      readonly kind: "client_tool";
      readonly request: { readonly tool: string; readonly input: JsonValue };
      /** True if another client may run the call after a claim has expired. */
      readonly repeatable: boolean;
      /** Milliseconds in which a client must give the result; the limit for actions when absent. */
      readonly timeoutMs?: number;
    };

/** The call of a transaction, decoded from its data. */
export interface DescribedCall {
  /** Solidity signature: `transfer(address to, uint256 amount)`. */
  readonly function: string;
  /** Values as decimal or hexadecimal text; fields of a struct are named by their path. */
  readonly arguments: readonly {
    readonly name: string;
    readonly type: string;
    readonly value: string;
    /** For amounts: the token's contract and the decimals that it claims, `null` if it claims none. */
    readonly token?: string;
    readonly decimals?: number | null;
  }[];
}

export type ActionKind = ActionRequest["kind"];

/** Users who may decide an approval together with or instead of the user of the session. */
export interface Approvers {
  /** Whether the user of the session may decide too. */
  readonly owner: "may" | "may_not";
  /** Name of the rule that defines the approvers (`approverRule`). Each request looks it up in the configuration. */
  readonly rule: string;
}

/** Returns the name of an App's approver rule for a tool. */
export function approverRule(app: string, tool: string): string {
  return JSON.stringify([app, tool]);
}

/** Returns the App of a rule name from `approverRule`. */
export function appOfRule(rule: string): string {
  return (JSON.parse(rule) as readonly [app: string, tool: string])[0];
}

/** A request that must be decided before a call runs, stored with its step. */
export interface NewAction {
  readonly id: string;
  readonly callId: string;
  readonly asked: ActionRequest;
  /** Time to decide, in milliseconds. */
  readonly validMs: number;
  /** Milliseconds until the reminder; absent for no reminder. */
  readonly remindMs?: number;
  /** Approvals only; absent if the user of the session decides. */
  readonly approvers?: Approvers;
}

/** A client's claim to run a call. Only the client that made it may report the result. */
export interface ActionClaim {
  readonly token: string;
  /** Milliseconds since the Unix epoch, on the store's clock. */
  readonly expiresAt: number;
}

/** The fields of an action. Times are milliseconds since the Unix epoch, on the store's clock. */
export const ACTION_FIELDS = {
  /** Number of the event that announced it; orders the actions of a session. */
  number: bigint("number", ({ position }) => position, { fixed: true }),
  id: text("id", ({ word }) => word, { fixed: true }),
  turn: bigint("turn", ({ position }) => position, { fixed: true }),
  callId: text("call_id", ({ z }) => z.string(), { fixed: true }),
  tool: text("tool", ({ z }) => z.string(), { fixed: true }),
  asked: json(
    "asked",
    ({ z, position }) =>
      z.strictObject({
        kind: z.enum(["approval", "wallet_transaction", "wallet_signature", "question", "client_tool"]),
        request: z.record(z.string(), z.json()),
        repeatable: z.boolean().optional(),
        timeoutMs: position.optional(),
      }),
    (stored) => stored as ActionRequest,
    { fixed: true },
  ),
  /** `cancelled` if the turn ends before anyone decides. */
  status: text("status", ({ z }) => z.enum(["pending", "approved", "denied", "expired", "cancelled"])),
  /** Result sent with the decision, `null` for none. */
  result: json(
    "result",
    ({ z }) => z.json(),
    (stored) => stored as JsonValue,
  ),
  /** `null` if no client has claimed the action, or the claim ended. */
  claim: pair(
    [
      "claim",
      "text",
      ({ word }) => word.nullable().default(null),
      (claim: ActionClaim | null) => claim?.token ?? null,
    ],
    [
      "claim_expires_at",
      "bigint",
      ({ time }) => time.nullable().default(null),
      (claim) => claim?.expiresAt ?? null,
    ],
    (token, expiresAt) => (token === null || expiresAt === null ? null : { token, expiresAt }),
  ),
  /** `null` if the user of the session decides. */
  approvers: {
    ...pair(
      [
        "approvers",
        "text",
        ({ z }) => z.enum(["also", "only"]).nullable().default(null),
        (approvers: Approvers | null) =>
          approvers === null ? null : approvers.owner === "may" ? ("also" as const) : ("only" as const),
      ],
      [
        "approver_rule",
        "text",
        ({ word }) => word.nullable().default(null),
        (approvers) => approvers?.rule ?? null,
      ],
      (mode, rule): Approvers | null =>
        mode === null || rule === null ? null : { owner: mode === "also" ? "may" : "may_not", rule },
    ),
    fixed: true,
  },
  /** Time of the next reminder; `null` after the reminder or if there is none. */
  remindAt: bigint("remind_at", ({ time }) => time.nullable().default(null)),
  createdAt: bigint("created_at", ({ time }) => time, { fixed: true }),
  expiresAt: bigint("expires_at", ({ time }) => time, { fixed: true }),
  resolvedAt: bigint("resolved_at", ({ time }) => time.nullable()),
} as const satisfies Fields;

export type ActionRecord = RecordOf<typeof ACTION_FIELDS>;
export type ActionStatus = ActionRecord["status"];

/** Returns the file ids in a result, up to the maximum. They are not validated. */
export function namedFiles(result: JsonValue): string[] {
  const { attachments = null } = isJsonObject(result) ? result : {};
  if (!Array.isArray(attachments)) return [];
  return attachments
    .slice(0, ATTACHMENTS_MAX)
    .flatMap((id) => (typeof id === "string" ? [id.toLowerCase()] : []));
}

/** Returns true if another client may run the call of this action after the first client's claim has expired. */
function isRepeatable({ asked }: Pick<ActionRecord, "asked">): boolean {
  return asked.kind === "client_tool" && asked.repeatable;
}

/** Returns the valid claim at this time, in milliseconds on the store's clock; `null` if there is none. */
export function liveClaim({ claim }: Pick<ActionRecord, "claim">, at: number): ActionClaim | null {
  return claim !== null && at < claim.expiresAt ? claim : null;
}

/**
 * Returns true if the pending action can no longer be decided: it has expired, or its claim has and no other
 * client may run the call.
 */
export function isOver(action: Pick<ActionRecord, "asked" | "claim" | "expiresAt">, at: number): boolean {
  return at >= action.expiresAt || (hasExpiredClaim(action, at) && !isRepeatable(action));
}

/** Returns true if the claim ended without a result. */
export function hasExpiredClaim({ claim }: Pick<ActionRecord, "claim">, at: number): boolean {
  return claim !== null && at >= claim.expiresAt;
}

/** Returns true if the reminder of the pending action is due. */
export function isReminderDue({ remindAt }: Pick<ActionRecord, "remindAt">, at: number): boolean {
  return remindAt !== null && at >= remindAt;
}

/** Returns true if a client may have run the call, and no other client may run it again. */
export function mayHaveRun(action: Pick<ActionRecord, "asked" | "claim">): boolean {
  return action.claim !== null && !isRepeatable(action);
}

/** Returns the action in the form of snapshots and `action_requested` events. */
export function toPendingAction(action: Omit<ActionRecord, "number">): PendingAction {
  const { id, asked, tool, callId, claim, createdAt, expiresAt, approvers } = action;
  // `ActionRequest` pairs each kind with its request, which the compiler cannot infer here.
  return {
    id,
    kind: asked.kind,
    tool,
    call_id: callId,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    request: asked.request,
    ...(approvers !== null && { approvers: approvers.owner === "may" ? "also" : "only" }),
    ...(asked.kind === "client_tool" && { claim_expires_at: claimExpiry(claim) }),
  } as PendingAction;
}

/** Returns the expiry of a claim in wire form. */
export function claimExpiry(claim: ActionClaim | null): string | null {
  return claim === null ? null : new Date(claim.expiresAt).toISOString();
}

/** Returns the action in the form of `GET /api/actions`. */
export function toWireAction(action: ActionRecord): Action {
  const { status, result, resolvedAt } = action;
  return {
    ...toPendingAction(action),
    status,
    result,
    resolved_at: resolvedAt === null ? null : new Date(resolvedAt).toISOString(),
  };
}

/** Returns the approvers' view of the action; `null` if the action has no approvers. */
export function toApproverAction(action: ActionRecord): ApproverAction | null {
  const { id, asked, tool, approvers, createdAt, expiresAt, status, resolvedAt } = action;
  if (approvers === null || asked.kind !== "approval") return null;
  return {
    id,
    app: appOfRule(approvers.rule),
    tool,
    title: asked.request.title ?? null,
    input: asked.request.input,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    status,
    resolved_at: resolvedAt === null ? null : new Date(resolvedAt).toISOString(),
  };
}

/** Maximum characters of a question quoted in a notice. */
const QUOTED = 500;

/** Returns the text of the action's notice, for clients that do not support actions. */
export function actionNotice(action: PendingAction): string {
  const until = `Without a decision by ${action.expires_at} it counts as denied, and the answer goes on.`;
  switch (action.kind) {
    case "approval":
      if (!mayUserDecide(action))
        return `The assistant waits until an approver allows the tool "${action.tool}". ${until}`;
      return `The assistant waits for your approval of the tool "${action.tool}". ${until}`;
    case "wallet_transaction":
      return `The assistant waits for you to send a transaction with your wallet. ${until}`;
    case "wallet_signature":
      return `The assistant waits for you to sign with your wallet. ${until}`;
    case "client_tool":
      return `The assistant waits for your client to run the tool "${action.tool}". ${until}`;
    case "question": {
      const { question } = action.request;
      const quoted = question.length <= QUOTED ? question : `${question.slice(0, QUOTED).toWellFormed()}…`;
      return `The assistant asks you: ${quoted} ${until}`;
    }
  }
}
