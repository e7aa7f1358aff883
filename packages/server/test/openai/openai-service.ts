// Starts a service with a scripted model, and creates `openai` clients for it.

import OpenAI from "openai";
import { afterAll, beforeAll } from "vitest";
import {
  type ProtocolService,
  type ProtocolServiceOptions,
  startProtocolService,
} from "../protocol-service.ts";

export interface OpenAIService extends ProtocolService {
  readonly client: OpenAI;
  /** Creates a client with this API key. */
  clientOf(apiKey: string): OpenAI;
}

interface Options extends ProtocolServiceOptions {
  /** Setting `protocols.openai.apps`; not set if absent. */
  readonly served?: readonly string[];
}

export async function startOpenAI({ served, ...options }: Options = {}): Promise<OpenAIService> {
  const protocols = served === undefined ? {} : { openai: { apps: served } };
  const service = await startProtocolService({ ...options, protocols });
  const clientOf = (apiKey: string): OpenAI =>
    new OpenAI({ baseURL: `${service.url}/v1`, apiKey, maxRetries: 0, logLevel: "off" });
  return { ...service, clientOf, client: clientOf("any") };
}

/** Starts the service before the tests of the file and stops it after them. Returns a function that returns it. */
export function useOpenAI(options?: Options): () => OpenAIService {
  let service: OpenAIService;
  beforeAll(async () => {
    service = await startOpenAI(options);
  });
  afterAll(() => service.close());
  return () => service;
}

/** Returns the fields of the `APIError` with which a request fails. Throws if the request succeeds. */
export async function refusalOf(request: Promise<unknown>) {
  try {
    await request;
  } catch (error) {
    if (error instanceof OpenAI.APIError) {
      const { status, code, param, message, type, error: body } = error;
      return { status, code, param, message, type, body: body as Record<string, unknown> };
    }
    throw error;
  }
  throw new Error("The request did not fail");
}

export const WEATHER = {
  type: "object",
  properties: { location: { type: "string", description: "The city" } },
  required: ["location"],
} as const;
