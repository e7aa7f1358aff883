// Actions: requests of a turn that a person must decide, and their results. An addition to the interface
// specification.

import { z } from "zod";
import { Json } from "./json.ts";
import { Timestamp } from "./timestamp.ts";

const asked = {
  id: z.uuid(),
  tool: z.string().meta({ description: "Name of the tool that was called" }),
  call_id: z.string().meta({ description: "Id of the call, as in `tool_calls`" }),
  created_at: Timestamp,
  expires_at: Timestamp.meta({ description: "Time at which it counts as denied" }),
};

const settled = {
  status: z.enum(["pending", "approved", "denied", "expired", "cancelled"]).meta({
    description: "`cancelled`: the turn ended before anybody decided",
  }),
  result: Json.meta({ description: "What the person supplied with the decision; `null` if nothing" }),
  resolved_at: Timestamp.nullable(),
};

const Approval = z.object({
  ...asked,
  kind: z.literal("approval"),
  request: z.object({
    tool: z.string(),
    title: z
      .string()
      .exactOptional()
      .meta({ description: "Name of the tool for people; absent if it has none" }),
    input: Json,
  }),
  approvers: z.enum(["also", "only"]).exactOptional().meta({
    description:
      "Who may decide. `only`: approvers; `also`: approvers and the user of the conversation; absent: the user",
  }),
});
const DescribedCall = z.object({
  function: z.string().meta({ description: "Solidity signature: `transfer(address to, uint256 amount)`" }),
  arguments: z.array(
    z.object({
      name: z.string().meta({ description: "Name; the path for a field of a struct" }),
      type: z.string(),
      value: z.string().meta({ description: "Decimal, hexadecimal, `true` or `false`" }),
      token: z.string().exactOptional().meta({ description: "For amounts: the contract of the token" }),
      decimals: z
        .number()
        .nullable()
        .exactOptional()
        .meta({ description: "For amounts: what the token claims; `null` if it claims nothing" }),
    }),
  ),
});
const WalletTransaction = z.object({
  ...asked,
  kind: z.literal("wallet_transaction"),
  request: z.object({
    to: z.string(),
    value: z.string().meta({ description: "Decimal, in the smallest unit of the chain's currency" }),
    data: z.string().meta({ description: "Hexadecimal, with `0x`" }),
    chain_id: z.number(),
    currency: z
      .object({ symbol: z.string(), decimals: z.number() })
      .exactOptional()
      .meta({ description: "The chain's own currency; absent in actions of older versions" }),
    call: DescribedCall.nullable().exactOptional().meta({
      description: "What `data` does, decoded as a call of a token or of Permit2; `null` for an unknown call",
    }),
  }),
});
const WalletSignature = z.object({
  ...asked,
  kind: z.literal("wallet_signature"),
  request: z.object({
    typed_data: z.record(z.string(), Json).meta({ description: "EIP-712 typed data" }),
  }),
});
const Question = z.object({
  ...asked,
  kind: z.literal("question"),
  request: z.object({
    question: z.string(),
    choices: z.array(z.string()).meta({ description: "Suggestions; any other answer is accepted" }),
  }),
});
/** A tool that runs in the client: the client that claims the action runs the call and reports its result. */
const ClientToolCall = z.object({
  ...asked,
  kind: z.literal("client_tool"),
  request: z.object({ tool: z.string(), input: Json }),
  claim_expires_at: Timestamp.nullable().meta({
    description: "Time until which a client has claimed the call; `null` if none has",
  }),
});

/** An action as the snapshot shows it, and the payload of an `action_requested` event. */
export const PendingAction = z.discriminatedUnion("kind", [
  Approval,
  WalletTransaction,
  WalletSignature,
  Question,
  ClientToolCall,
]);
export type PendingAction = z.infer<typeof PendingAction>;

/** An action with its outcome. */
export const Action = z.discriminatedUnion("kind", [
  Approval.extend(settled),
  WalletTransaction.extend(settled),
  WalletSignature.extend(settled),
  Question.extend(settled),
  ClientToolCall.extend(settled),
]);
export type Action = z.infer<typeof Action>;

/** An action as shown to approvers, without other data of the conversation. */
export const ApproverAction = z.object({
  id: z.uuid(),
  app: z.string(),
  tool: z.string(),
  title: z.string().nullable().meta({ description: "Name of the tool for people" }),
  input: Json,
  created_at: Timestamp,
  expires_at: Timestamp.meta({ description: "Time at which it counts as denied" }),
  status: settled.status,
  resolved_at: Timestamp.nullable(),
});
export type ApproverAction = z.infer<typeof ApproverAction>;

/** Payload of an `action_resolved` event. */
export const ResolvedAction = z.object({
  id: z.uuid(),
  status: z.enum(["approved", "denied", "expired", "cancelled"]),
  result: Json,
});
export type ResolvedAction = z.infer<typeof ResolvedAction>;

/** A client's claim of an action of kind `client_tool`. */
export const ActionClaim = z.object({
  claim: z.string().meta({ description: "Secret of the claim: renews it, and comes with the decision" }),
  expires_at: Timestamp.meta({ description: "Time at which it lapses, unless it is renewed" }),
});
export type ActionClaim = z.infer<typeof ActionClaim>;
