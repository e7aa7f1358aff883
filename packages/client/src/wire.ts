// The types of the wire, taken from the schemas that the server validates with. All of them come in through this file, and as types
// alone: the build writes them out for the published package, which then needs neither the schemas nor the library behind them.

export type {
  Action,
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
  ToolResult,
  UserState,
} from "@colloquy/protocol";
