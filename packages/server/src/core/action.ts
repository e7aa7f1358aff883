// Actions that wait for a person: what a turn asks, and what becomes of it. An action belongs to one tool call of one turn.

import type { Action, PendingAction } from "@colloquy/protocol";
import type { JsonObject, JsonValue } from "./json.ts";

/** What is asked. The field names within a request are those of the wire. */
export type ActionRequest =
  /** May this call run with exactly this input? */
  | { readonly kind: "approval"; readonly request: { readonly tool: string; readonly input: JsonValue } }
  /**
   * Send this transaction with your wallet. `value` is decimal, in the smallest unit of the chain's `currency`; `data` is hexadecimal. `call` says what
   * the data does, `null` where nobody can say. Actions of older versions have neither `currency` nor `call`.
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
  /** Sign this typed data (EIP-712). */
  | { readonly kind: "wallet_signature"; readonly request: { readonly typed_data: JsonObject } }
  | {
      readonly kind: "question";
      readonly request: { readonly question: string; readonly choices: readonly string[] };
    };

/** The call of a transaction, read from its data. */
export interface DescribedCall {
  /** As in Solidity: `transfer(address to, uint256 amount)`. */
  readonly function: string;
  /** Values as decimal or hexadecimal text; a struct's have their path as their name. */
  readonly arguments: readonly {
    readonly name: string;
    readonly type: string;
    readonly value: string;
    /** Of amounts: the contract of their token, and the decimals that it claims, `null` where it tells none. */
    readonly token?: string;
    readonly decimals?: number | null;
  }[];
}

export type ActionKind = ActionRequest["kind"];

/** `cancelled`: the turn ended before anybody decided. */
export type ActionStatus = "pending" | "approved" | "denied" | "expired" | "cancelled";

/** What a call asks before it may run, as a turn hands it over with the step that made the call. */
export interface AskedAction {
  readonly id: string;
  readonly callId: string;
  readonly asked: ActionRequest;
  /** Milliseconds that a person has to decide. */
  readonly validMs: number;
}

export interface ActionRecord {
  /** Number of the event that announced it: actions of a session are in its order. */
  readonly number: number;
  readonly id: string;
  /** Number of the turn that waits. */
  readonly turn: number;
  readonly callId: string;
  /** Name of the tool that was called. */
  readonly tool: string;
  readonly asked: ActionRequest;
  readonly status: ActionStatus;
  /** What the person gave beside the decision, `null` for nothing. */
  readonly result: JsonValue;
  /** Milliseconds since the Unix epoch, on the store's clock. */
  readonly createdAt: number;
  /** From this moment on nobody can decide any more. */
  readonly expiresAt: number;
  readonly resolvedAt: number | null;
}

/** An action as snapshots and `action_requested` events show it. */
export function toPendingAction(action: Omit<ActionRecord, "number">): PendingAction {
  const { id, asked, tool, callId, createdAt, expiresAt } = action;
  // The compiler cannot see that kind and request go together; `ActionRequest` says that they do.
  return {
    id,
    kind: asked.kind,
    tool,
    call_id: callId,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    request: asked.request,
  } as PendingAction;
}

/** An action as `GET /api/actions` shows it. */
export function toWireAction(action: ActionRecord): Action {
  const { status, result, resolvedAt } = action;
  return {
    ...toPendingAction(action),
    status,
    result,
    resolved_at: resolvedAt === null ? null : new Date(resolvedAt).toISOString(),
  };
}

/** Characters of a question that a notice quotes. */
const QUOTED = 500;

/** What a notice says is awaited, and what comes of it if nobody decides: all that a client which knows nothing of actions can show. */
export function actionNotice(action: PendingAction): string {
  const until = `Without a decision by ${action.expires_at} it counts as denied, and the answer goes on.`;
  switch (action.kind) {
    case "approval":
      return `The assistant waits for your approval of the tool "${action.tool}". ${until}`;
    case "wallet_transaction":
      return `The assistant waits for you to send a transaction with your wallet. ${until}`;
    case "wallet_signature":
      return `The assistant waits for you to sign with your wallet. ${until}`;
    case "question": {
      const { question } = action.request;
      const quoted = question.length <= QUOTED ? question : `${question.slice(0, QUOTED).toWellFormed()}…`;
      return `The assistant asks you: ${quoted} ${until}`;
    }
  }
}
