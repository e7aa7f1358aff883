// Calls with the providers' real packages to a test's server.

import { experimental_streamLanguageModelCall } from "ai";
import { expect } from "vitest";
import type { ModelFailure } from "@colloquy/engine/internal/core/ports/driven/model";
import { createModelCatalog, type ProviderSettings } from "@colloquy/engine/internal/models/catalog";
import { ManualClock } from "./manual-clock.ts";

/** A key that must never leak. */
export const secretKey = "sk-very-secret-key";

/** A model of each provider in `createProviderCatalog`. */
export const rigs = [
  "openai/gpt-5",
  "anthropic/claude-sonnet-4-5",
  "google/gemini-2.5-flash",
  "local/llama3.2",
] as const;
export type Rig = (typeof rigs)[number];

type Catalog = ReturnType<typeof createModelCatalog>;

/**
 * Creates all kinds of providers at one address, with the secret key unless another or none (`null`) is
 * given.
 */
export function createProviderCatalog(baseURL: string, apiKey: string | null = secretKey): Catalog {
  const settings = (kind: ProviderSettings["kind"]): ProviderSettings => ({
    kind,
    baseURL,
    headers: { "x-project": "demo" },
    ...(apiKey !== null && { apiKey }),
  });
  return createModelCatalog({
    clock: new ManualClock(Date.UTC(2026, 0, 1)),
    extraModels: {},
    providers: {
      openai: settings("openai"),
      anthropic: settings("anthropic"),
      google: settings("google"),
      local: settings("openai-compatible"),
    },
  });
}

/** Returns the reported failure of a call like a turn's; `null` if it succeeded. */
export async function failureOf(
  catalog: Catalog,
  rig: Rig,
  signal?: AbortSignal,
): Promise<ModelFailure | null> {
  try {
    const { stream } = await experimental_streamLanguageModelCall({
      model: await catalog.resolve(rig),
      prompt: "A private question",
      ...(signal !== undefined && { abortSignal: signal }),
    });
    for await (const part of stream) if (part.type === "error") throw part.error;
    return null;
  } catch (error) {
    const failure = catalog.describeFailure(error);
    expect(failure.message).toMatch(/^(?:The|This) .*\.$/);
    expect(failure.message).not.toMatch(/sk-|http|127\.0|private|Error|\bat \//i);
    return failure;
  }
}
