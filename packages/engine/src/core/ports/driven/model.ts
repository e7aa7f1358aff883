import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { NoticeCode } from "@colloquy/protocol";

/** Resolves rigs (`provider/model`) to callable models. Implemented by `createModelCatalog` (models/catalog.ts). */
export interface ModelCatalog {
  /**
   * Returns the language model of a rig; imports the provider's package on first use. Rejects if the provider is unknown or
   * its package cannot be loaded.
   */
  resolve(rig: string): Promise<LanguageModelV4>;
  /** Context window in tokens, prompt and answer together. */
  contextWindow(rig: string): number;
  /** Rules of the rig's provider for prompts. */
  promptRules(rig: string): PromptRules;
  /** Rules of the rig's provider for tools. */
  toolRules(rig: string): ToolRules;
  /** Classifies anything that `resolve` or a model threw. */
  describeFailure(error: unknown): ModelFailure;
  /** Returns details of the same error for operators, without keys and message text. */
  failureFacts(error: unknown): FailureFacts;
}

/** What a provider demands of a prompt beyond the form that is valid everywhere. */
export interface PromptRules {
  /**
   * Digest of the provider's address, account and model. Private data, such as signatures of reasoning, is only
   * sent back to the origin that made it.
   */
  readonly origin: string;
  /**
   * `word`: at most 64 of `[a-zA-Z0-9_-]`; `nine`: nine letters or digits, as Mistral and the chat templates of
   * its models demand.
   */
  readonly callIds: "word" | "nine";
  /** True if an answer must stand between a tool's result and the next user message. */
  readonly alternates: boolean;
  /**
   * Turns whose reasoning is sent back: all, or the current turn and turns with tool calls. DeepSeek and Kimi
   * require it with every call and ignore it elsewhere. Some servers reject all reasoning.
   */
  readonly reasoning: "always" | "with-calls" | "never";
  /** Media types of the files that are sent; absent for none. Text is always sent, as text. */
  readonly files?: readonly string[];
  /** True if a tool's result may contain files. Otherwise they follow in a message of the user. */
  readonly filesInResults?: boolean;
  /** False if the model cannot use tools, so that none are sent. Default: true. */
  readonly tools?: boolean;
}

/** What a provider demands of the tools of a request. */
export interface ToolRules {
  readonly schemas: SchemaDialect;
  /** Maximum number of tools. */
  readonly maxTools: number;
}

/** The JSON Schema that a provider accepts; `strictest` is what all of them accept. */
export type SchemaDialect = "openai" | "anthropic" | "google" | "strictest";

/** Details of a failed call to a provider, where known. */
export interface FailureFacts {
  /** Name of the error. */
  readonly error?: string;
  /** URL of the request without its query. */
  readonly address?: string;
  /** Code of a failed connection, such as `ECONNREFUSED`. */
  readonly errno?: string;
  readonly status?: number;
  /** Beginning of the provider's answer, redacted. */
  readonly body?: string;
}

/** User-facing failure of a model call. */
export interface ModelFailure {
  readonly code: NoticeCode;
  /** A sentence without secrets, addresses or stack traces. */
  readonly message: string;
  /** True if the provider says that the same call may succeed later. */
  readonly retryable: boolean;
  /** True if the provider refuses the form of the conversation, so that a plainer form may succeed. */
  readonly refusesHistory?: boolean;
  /** True if the request may succeed without its files. */
  readonly refusesFiles?: boolean;
  /** The provider's `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
}
