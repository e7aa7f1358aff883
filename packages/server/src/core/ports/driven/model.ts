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
  /** Classifies anything that `resolve` or a model threw. */
  describeFailure(error: unknown): ModelFailure;
  /** Returns details of the same error for operators, without keys and message text. */
  failureFacts(error: unknown): FailureFacts;
}

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
  /** The provider's `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
}
