// Converts wallet requests to actions of the agent API, which has no other kinds of decisions.

import type { Action, PendingAction, Snapshot } from "@colloquy/protocol";
import { isActionResult } from "@colloquy/protocol/action-results";
import {
  DECISION_COMMENT_MAX,
  InvalidRequest,
  isJsonObject,
  type JsonObject,
} from "@colloquy/server/protocol";
import type { ProtocolConversation } from "@colloquy/server/protocol";
import type { ActionBody, ActionResult } from "./wire.ts";

export type WalletAction = Extract<Action, { kind: "wallet_transaction" | "wallet_signature" }>;
type Answer = Parameters<ProtocolConversation["decide"]>[1];

/** Revision of an action that waits for its result. The next revision has the result. */
export const PENDING = 1;
/** Id of the only transaction or signature of an action. */
const LEG = "1";
const REJECTED = "Rejected";

const STATES = {
  pending: "pending",
  approved: "completed",
  denied: "rejected",
  expired: "expired",
  cancelled: "failed",
} as const;

export function isWalletAction<Kind extends PendingAction>(
  action: Kind,
): action is Extract<Kind, { kind: "wallet_transaction" | "wallet_signature" }> {
  return action.kind === "wallet_transaction" || action.kind === "wallet_signature";
}

/** Returns the action in its state before the decision. */
export function asPending(action: WalletAction): WalletAction {
  return { ...action, status: "pending", result: null, resolved_at: null };
}

/** `state` is the user's state while the action is pending, and `null` after the decision. */
export function toAction(action: WalletAction, label: string, state: Snapshot["user_state"]): ActionBody {
  return {
    type: "action",
    id: action.id,
    revision: action.status === "pending" ? PENDING : PENDING + 1,
    state: STATES[action.status],
    request: requestOf(action, label, addressIn(state)),
    result: resultOf(action),
    created_at: secondsOf(action.created_at),
    expires_at: secondsOf(action.expires_at),
  };
}

function requestOf(action: WalletAction, label: string, address: string): ActionBody["request"] {
  if (action.kind === "wallet_transaction") {
    const { to, value, data, chain_id } = action.request;
    return {
      type: "execute_evm",
      transactions: [{ chain_id, from: address, to, value, data, label, kind: action.tool }],
    };
  }
  const { typed_data } = action.request;
  const { domain } = typed_data;
  const chainId = isJsonObject(domain) ? Number(domain["chainId"]) : Number.NaN;
  return {
    type: "sign",
    requestId: action.id,
    chainFamily: "evm",
    executionKind: "message",
    signer: address,
    ...(Number.isSafeInteger(chainId) && { chainId }),
    description: label,
    payloads: [{ kind: "evm_typed_data", typed_data }],
    expiresAt: action.expires_at,
  };
}

function addressIn(state: Snapshot["user_state"]): string {
  const { evm } = state ?? {};
  const address = isJsonObject(evm) ? evm["address"] : null;
  return typeof address === "string" ? address : "";
}

function resultOf({ status, result }: WalletAction): ActionResult | null {
  if (status === "denied") return { status: "rejected", reason: REJECTED };
  if (status !== "approved" || !isJsonObject(result)) return null;
  const { transaction_hash: transactionId, signature } = result;
  if (typeof transactionId === "string")
    return { status: "submitted", legs: [{ id: LEG, status: "submitted", transactionId }] };
  if (typeof signature === "string") return { status: "signed", outputs: [{ id: LEG, signature }] };
  return null;
}

/** Converts the result of an action to a decision. Throws an `InvalidRequest` if it does not match the action. */
export function readResult({ kind }: WalletAction, result: JsonObject): Answer {
  const denial = (reason: unknown): Answer => ({
    decision: "deny",
    result: null,
    comment:
      typeof reason === "string"
        ? reason.trim().slice(0, DECISION_COMMENT_MAX).toWellFormed().trim() || null
        : null,
  });
  if (result["status"] === "rejected") return denial(result["reason"]);
  const [field, wanted, name] =
    kind === "wallet_transaction"
      ? (["legs", "submitted", "transactionId"] as const)
      : (["outputs", "signed", "signature"] as const);
  const list = result[field];
  const [first] = Array.isArray(list) ? list : [];
  if (result["status"] !== wanted || !isJsonObject(first)) throw invalidResult(wanted, field);
  // A leg may have failed in the wallet.
  if (field === "legs" && first["status"] !== "submitted") return denial(first["reason"]);
  const value = { [kind === "wallet_transaction" ? "transaction_hash" : "signature"]: first[name] ?? null };
  if (!isActionResult(kind, value)) throw invalidResult(wanted, `${field}[0].${name}`);
  return { decision: "approve", result: { ...value } };
}

function invalidResult(status: string, field: string): InvalidRequest {
  return new InvalidRequest(
    "action_result_invalid",
    `The result does not match the action. Send the status "${status}" with "${field}", or "rejected".`,
  );
}

export function secondsOf(time: string): number {
  return Date.parse(time) / 1_000;
}
