// Schema and settings of an OpenAPI service in an App.

import { resolve } from "node:path";
import { z } from "zod";
import { baseURL, headers, Hidden, text } from "@colloquy/engine/tool-source";

export const OpenApiSection = z.strictObject({
  document: text.describe("OpenAPI document: a path relative to the configuration file, or a URL."),
  baseURL: baseURL
    .optional()
    .describe(
      "Base URL of the service; defaults to the first server of the document. Like `document`, it may use `http` only for loopback and private addresses.",
    ),
  operations: z.array(text).min(1).optional().describe("Operation ids that become tools; defaults to all."),
  headers: headers
    .optional()
    .describe("Header fields sent with each call, only to the host of the service. May have placeholders."),
});

export interface OpenApiSettings {
  /** Path (absolute) or http(s) URL of the document. */
  readonly document: string;
  /** `null` for the document's first server. */
  readonly baseURL: string | null;
  /** Operation ids that become tools; `null` for all. */
  readonly operations: readonly string[] | null;
  /** Header values may contain `{{secret.NAME}}`. */
  readonly headers: Hidden<Readonly<Record<string, string>>>;
}

/** Returns true if the document is a URL, not a file path. */
export function isAddress(document: string): boolean {
  return /^[a-zA-Z][a-zA-Z0-9+.-]+:\/\//.test(document);
}

/** @param directory base of a relative document path. */
export function openApiSettings(
  { document, baseURL: base, operations, headers: fields }: z.output<typeof OpenApiSection>,
  directory: string,
): OpenApiSettings {
  return {
    document: isAddress(document) ? document : resolve(directory, document),
    baseURL: base ?? null,
    operations: operations ?? null,
    headers: new Hidden(fields ?? {}),
  };
}
