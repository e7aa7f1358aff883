"use client";

export {
  ColloquyProvider,
  useColloquy,
  type Colloquy,
  type ColloquyProviderProps,
} from "./colloquy-provider.tsx";
export type { ThreadEntry } from "./thread-entries.ts";
export type { ThreadsState } from "./thread-list.ts";
export {
  localThreads,
  memoryThreads,
  type LocalThreadsOptions,
  type ThreadStorage,
} from "./thread-storage.ts";
export { useApprovals, type Approvals } from "./use-approvals.ts";
export { useClientTool } from "./use-client-tool.ts";
export { useMessageSearch, type MessageSearch } from "./use-message-search.ts";
export { useFile, type FileView } from "./use-file.ts";
export { useNotices, type Notice } from "./use-notices.ts";
export { usePendingActions, type PendingActions } from "./use-pending-actions.ts";
export { useReadToEnd, type ReadToEnd } from "./use-read-to-end.ts";
export { useLiveReasoning, useReasoning, type ReasoningView } from "./use-reasoning.ts";
export { useSession, useToolProgress, type SessionView } from "./use-session.ts";
export { useThreads, type Threads } from "./use-threads.ts";
