// Schema and settings of an MCP server in an App.

import { z } from "zod";
import {
  createScrubber,
  headers,
  headerScrubber,
  Hidden,
  isServerURL,
  keysInVariables,
  type Scrubber,
  SERVER_URL_RULE,
  text,
} from "@colloquy/engine/tool-source";

const McpUrlSection = z.strictObject({
  url: z
    .string()
    .refine(isServerURL, SERVER_URL_RULE)
    .meta({ pattern: "^https?://" })
    .describe("URL of a Streamable HTTP server, without a key; put keys in `headers`."),
  headers: headers
    .optional()
    .describe("Header fields sent with each request, only to the host of `url`. May have placeholders."),
});

const McpCommandSection = z.strictObject({
  command: text.describe("Program to start, instead of `url`."),
  args: z
    .array(z.string())
    .optional()
    .describe(
      "Arguments of the program, without placeholders, because every user of the machine can see them.",
    ),
  env: z
    .record(
      z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, "must be the name of an environment variable"),
      z.string(),
    )
    .optional()
    .describe(
      "Environment variables of the program, in addition to those that the platform requires. May have `{{env.NAME}}`.",
    ),
});

export const McpSection = z.union([McpUrlSection, McpCommandSection]);

export type McpServerSettings =
  | {
      readonly transport: "http";
      readonly url: string;
      /** Header values may contain `{{secret.NAME}}`. */
      readonly headers: Hidden<Readonly<Record<string, string>>>;
    }
  | {
      readonly transport: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /**
       * Environment variables of the process, in addition to those that the platform requires. The process does
       * not inherit the service's environment.
       */
      readonly env: Hidden<Readonly<Record<string, string>>>;
    };

export function mcpSettings(section: z.output<typeof McpSection>): McpServerSettings {
  if ("url" in section)
    return { transport: "http", url: section.url, headers: new Hidden(section.headers ?? {}) };
  const { command, args = [], env = {} } = section;
  return { transport: "stdio", command, args, env: new Hidden(env) };
}

/** Creates a scrubber for the configured secrets and for `secrets`, the client secrets sent to the server. */
export function ownScrubber(settings: McpServerSettings, secrets: readonly string[]): Scrubber {
  return settings.transport === "http"
    ? headerScrubber(settings.headers.reveal(), secrets)
    : createScrubber([...keysInVariables(Object.entries(settings.env.reveal())), ...secrets]);
}
