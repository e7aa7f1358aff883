"use client";

export { NOTICE_PART, type ToolArtifact } from "./thread-message.ts";
export { useColloquyRuntime, type ColloquyRuntimeOptions } from "./use-colloquy-runtime.ts";
