import type { LanguageModelV4 } from "@ai-sdk/provider";

/** How a rig (`provider/model`) becomes something that can be called. */
export interface ModelCatalog {
  /**
   * The language model behind a rig; the provider's package is imported on first use.
   * Rejects when the provider is unknown or its package cannot be loaded.
   */
  resolve(rig: string): Promise<LanguageModelV4>;
  /** Tokens that fit the model's context, prompt and answer together. */
  contextWindow(rig: string): number;
}
