// Definitions of tools that run in the client: those of an App and those of a chat.

import { z } from "zod";

const DAY_MS = 24 * 60 * 60 * 1_000;

export const ClientToolName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be a tool's name: 1 to 64 letters, digits, _ and -");

export interface ClientTool {
  description: string;
  inputSchema: Record<string, unknown>;
  timeoutMs?: number | undefined;
  repeatable?: boolean | undefined;
}

export const ClientTool: z.ZodType<ClientTool, ClientTool> = z.strictObject({
  description: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(4_096, "must have at most 4,096 characters")
    .describe("What the tool does, for the model."),
  inputSchema: z
    .record(z.string(), z.unknown(), "must be an object")
    .describe('JSON Schema (draft 7) of the input, with `"type": "object"`.'),
  timeoutMs: z
    .int("must be a whole number")
    .min(1_000, "must be at least 1,000")
    .max(DAY_MS, "must be at most 86,400,000")
    .optional()
    .describe("Time for a client to give the result; `limits.actionMs` when absent."),
  repeatable: z
    .boolean("must be true or false")
    .optional()
    .describe(
      "Whether another client may run a call whose client did not report back. By default its outcome is unknown, and nobody runs it again.",
    ),
});
