// Actions that wait for a person: what a turn asks, and what becomes of it. An action belongs to one tool call of one turn.

import type { JsonObject, JsonValue } from "./json.ts";

/** What is asked. The field names within a request are those of the wire. */
export type ActionRequest =
  /** May this call run with exactly this input? */
  | { readonly kind: "approval"; readonly request: { readonly tool: string; readonly input: JsonValue } }
  /** Send this transaction with your wallet. `value` is decimal wei, `data` hexadecimal. */
  | {
      readonly kind: "wallet_transaction";
      readonly request: {
        readonly to: string;
        readonly value: string;
        readonly data: string;
        readonly chain_id: number;
      };
    }
  /** Sign this typed data (EIP-712). */
  | { readonly kind: "wallet_signature"; readonly request: { readonly typed_data: JsonObject } }
  | {
      readonly kind: "question";
      readonly request: { readonly question: string; readonly choices: readonly string[] };
    };

export type ActionKind = ActionRequest["kind"];

/** `cancelled`: the turn ended before anybody decided. */
export type ActionStatus = "pending" | "approved" | "denied" | "expired" | "cancelled";

export interface ActionRecord {
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
  readonly expiresAt: number;
  readonly resolvedAt: number | null;
}
