"use client";

export { attachmentAdapter, attachmentIds } from "./attachment-adapter.ts";
export type { DisplayMessage } from "./display-messages.ts";
export { NOTICE_PART, type ToolArtifact } from "./thread-message.ts";
export { useColloquyRuntime, type ColloquyRuntimeOptions } from "./use-colloquy-runtime.ts";
