// Types of the agent API, as far as this plugin sends them.

import type { JsonValue } from "@colloquy/server/protocol";

export interface EventMeta {
  readonly event_id: string;
  readonly sequence: number;
  readonly turn_id: string;
  /** Seconds since the Unix epoch. */
  readonly occurred_at: number;
}

export type TurnState = "processing" | "awaiting_action" | "complete" | "interrupted" | "failed";

export interface MessageBody {
  readonly type: "message";
  /** A message replaces an earlier one with the same key. */
  readonly message_key: string;
  readonly sender: "user" | "agent" | "notice";
  readonly content: string;
  readonly is_streaming: boolean;
}

export interface ActionBody {
  readonly type: "action";
  readonly id: string;
  readonly revision: number;
  readonly state: "pending" | "submitted" | "completed" | "rejected" | "expired" | "failed";
  readonly request: { readonly type: "execute_evm" | "sign"; readonly [field: string]: unknown };
  readonly result: ActionResult | null;
  readonly created_at: number;
  readonly expires_at: number;
}

export type ActionResult =
  | {
      readonly status: "submitted";
      readonly legs: readonly {
        readonly id: string;
        readonly status: "submitted";
        readonly transactionId: string;
      }[];
    }
  | {
      readonly status: "signed";
      readonly outputs: readonly { readonly id: string; readonly signature: string }[];
    }
  | { readonly status: "rejected"; readonly reason: string };

export type EventBody =
  | MessageBody
  | ActionBody
  | { readonly type: "turn_state_changed"; readonly state: TurnState }
  | {
      readonly type: "tool_complete";
      readonly id: string;
      readonly call_id: string;
      readonly tool_name: string;
      readonly result: JsonValue;
    }
  | { readonly type: "title_changed"; readonly title: string }
  | { readonly type: "error"; readonly message: string };

export type AgentEvent = EventMeta & EventBody;

export interface EventPage {
  readonly session_id: string;
  readonly cursor: string;
  readonly events: readonly AgentEvent[];
  readonly has_more: boolean;
}

/** Text of an answer in progress: the whole text so far. */
export interface LiveMessage {
  readonly type: "message";
  readonly turn_id: string;
  /** Increases with the text. Clients ignore lower ones. */
  readonly revision: number;
  readonly message: Omit<MessageBody, "type">;
}
