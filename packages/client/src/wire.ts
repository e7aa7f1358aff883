// The wire types, inferred from the server's validation schemas. All are imported through this file, as types
// only: the build writes them out, so that the published package needs neither the schemas nor zod.

export type {
  Action,
  ActionClaim,
  AppDescriptor,
  Message,
  MessageDelta,
  MessageStatus,
  NoticeCode,
  NoticeLevel,
  PendingAction,
  PersistedMessage,
  Problem,
  SecretSlot,
  SessionEvent,
  SessionStatus,
  SetModelResult,
  Snapshot,
  SystemEvent,
  Thread,
  ToolCall,
  ToolCallStatus,
  ToolProblem,
  ToolResult,
  UserState,
  WalletToken,
} from "@colloquy/protocol";
