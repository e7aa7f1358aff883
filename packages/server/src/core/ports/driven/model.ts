import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { NoticeCode } from "@colloquy/protocol";

/** How a rig (`provider/model`) becomes something that can be called. */
export interface ModelCatalog {
  /**
   * The language model behind a rig; the provider's package is imported on first use.
   * Rejects when the provider is unknown or its package cannot be loaded.
   */
  resolve(rig: string): Promise<LanguageModelV4>;
  /** Tokens that fit the model's context, prompt and answer together. */
  contextWindow(rig: string): number;
  /** What to make of anything that `resolve` or a model has thrown. */
  describeFailure(error: unknown): ModelFailure;
}

/** Why a model call failed, as a user of an application is told it. */
export interface ModelFailure {
  readonly code: NoticeCode;
  /** A sentence without secrets, addresses or stack traces. */
  readonly message: string;
  /** Whether the provider says that the same call may succeed later. */
  readonly retryable: boolean;
  /** Milliseconds that the provider asks to wait (`Retry-After`). */
  readonly retryAfterMs?: number;
}
