// Parses `RunAgentInput` (https://docs.ag-ui.com/sdk/js/core/types). Reads only the last messages: the service has
// stored the others.

import { SessionId } from "@colloquy/protocol";
import {
  InvalidRequest,
  isJsonObject,
  type JsonObject,
  readMessage,
  UserStateField,
} from "@colloquy/server/protocol";
import { z } from "zod";
import { readFileParts, type SentFile } from "./file-parts.ts";
import { storedMessageId } from "./ids.ts";
import { ResumeEntry } from "./interrupts.ts";

const THREAD_ID = "must be a UUID. Create the agent with `threadId: crypto.randomUUID()`";
const ID_MAX_LENGTH = 200;
const Id = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(ID_MAX_LENGTH, `must have at most ${ID_MAX_LENGTH} characters`);

const Tool = z.looseObject({
  name: z.string("must be a string"),
  description: z.string("must be a string").nullish(),
  parameters: z.unknown().optional(),
});
const Context = z.looseObject({
  description: z.string("must be a string").nullish(),
  value: z.string("must be a string"),
});

export const RunInput = z
  // Later versions of the protocol may add fields.
  .looseObject({
    threadId: z
      .string(THREAD_ID)
      .refine((id) => SessionId.safeParse(id).success, THREAD_ID)
      .meta({ description: "Id of the thread, which is the session's: a UUID", format: "uuid" }),
    runId: Id.meta({
      description: "The client's id of the run. Repeating a message with another id regenerates its answer",
    }),
    parentRunId: Id.nullish(),
    protocolVersion: z
      .string("must be a string")
      .nullish()
      .meta({
        description: "Version that the client speaks. Results with files have parts from version 1.0 on",
        examples: ["1.0"],
      }),
    state: UserStateField.nullish().meta({ description: "Merged into the session's user state" }),
    messages: z.array(z.unknown(), "must be an array of messages").meta({
      description:
        "The service reads only the last message, or the last messages with the role `tool`. An empty array connects to the thread",
    }),
    tools: z.array(Tool, "must be an array of tools").nullish().meta({
      description: "Tools that the client runs, at most 16. The App must allow them",
    }),
    context: z.array(Context, "must be an array").nullish().meta({
      description: "Instructions for this message, appended to those of the App",
    }),
    forwardedProps: z.unknown().optional().meta({ description: "Ignored" }),
    resume: z.array(ResumeEntry, "must be an array").max(100, "must have at most 100 entries").nullish(),
  })
  .meta({
    description: "`RunAgentInput`",
    example: {
      threadId: "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11",
      runId: "0d6a2b1e-52c0-4b6e-8f63-0f9b7f1f2c11",
      messages: [{ id: "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11", role: "user", content: "what is 12 * 7?" }],
    },
  });
export type RunInput = z.output<typeof RunInput>;

/** Result of a call that the client has run. */
export interface ToolAnswer {
  readonly callId: string;
  readonly result: { readonly output: string } | { readonly error: string };
  /** Content parts of the output. `readFileParts` reads the files among them. */
  readonly parts: readonly JsonObject[];
}

/** What the last messages request. */
export type Asked =
  /** Sends a message. `id` is the id under which it is stored, `sentId` the client's. */
  | {
      readonly kind: "message";
      readonly id: string;
      readonly sentId: string;
      readonly text: string;
      readonly files: readonly SentFile[];
    }
  /** Sends results of client tools. */
  | { readonly kind: "answers"; readonly answers: readonly ToolAnswer[] }
  /** Reads the thread and follows the turn in progress. */
  | { readonly kind: "connect" };

/** Returns true if an unvalidated message is the result of a call. */
export function answersCall(message: unknown): boolean {
  return isJsonObject(message) && message["role"] === "tool";
}

/** Returns the request in the last messages. Throws `InvalidRequest` if the last message is invalid. */
export function readAsked({ messages, threadId }: RunInput): Asked {
  const last = messages.at(-1);
  if (last === undefined) return { kind: "connect" };
  if (!isJsonObject(last)) throw invalidMessage("must be an object");
  if (last["role"] === "user") {
    const { id } = last;
    if (typeof id !== "string" || id === "" || id.length > ID_MAX_LENGTH)
      throw invalidMessage(`must have an "id" of at most ${ID_MAX_LENGTH} characters`);
    const stored = storedMessageId(threadId.toLowerCase(), id);
    return { kind: "message", id: stored, sentId: id, ...contentOf(last["content"], stored) };
  }
  if (last["role"] === "system" || last["role"] === "developer")
    throw invalidMessage("must have the role user or tool. Send instructions as `context`");
  if (!answersCall(last)) return { kind: "connect" };
  const first = messages.findLastIndex((message) => !answersCall(message)) + 1;
  return { kind: "answers", answers: messages.slice(first).filter(isJsonObject).map(readAnswer) };
}

function contentOf(
  content: unknown,
  messageId: string,
): { readonly text: string; readonly files: readonly SentFile[] } {
  if (typeof content === "string") return { text: readMessage(content), files: [] };
  if (!Array.isArray(content)) throw invalidMessage('must have "content": a string or an array of parts');
  const parts = content.filter(isJsonObject);
  const files = readFileParts(parts, messageId);
  const texts = parts.map(({ type, text }) => (type === "text" && typeof text === "string" ? text : ""));
  return { text: readMessage(texts.join(""), files.length > 0), files };
}

function readAnswer({ toolCallId, content, error = null }: JsonObject): ToolAnswer {
  if (typeof toolCallId !== "string") throw invalidMessage('must have a "toolCallId"');
  if (typeof error === "string" && error !== "") return { callId: toolCallId, result: { error }, parts: [] };
  if (typeof content === "string") return { callId: toolCallId, result: { output: content }, parts: [] };
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : [];
  const output = parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
  return { callId: toolCallId, result: { output }, parts };
}

/** Converts tools to `client_tools` (docs/api.md#tools-that-run-in-the-client). Returns `null` if there are none. */
export function readTools({ tools }: RunInput): JsonObject | null {
  if (tools === null || tools === undefined || tools.length === 0) return null;
  const offered = tools.map(({ name, description, parameters }): [string, JsonObject] => [
    name,
    {
      description:
        description === null || description === undefined || description === "" ? name : description,
      inputSchema: isJsonObject(parameters) ? parameters : { type: "object", properties: {} },
    },
  ]);
  return Object.fromEntries(offered);
}

/** Converts context to instructions, one line per entry. Returns `null` if there is none. */
export function readContext({ context }: RunInput): string | null {
  if (context === null || context === undefined || context.length === 0) return null;
  return context
    .map(({ description, value }) =>
      description === null || description === undefined ? value : `${description}: ${value}`,
    )
    .join("\n");
}

function invalidMessage(expectation: string): InvalidRequest {
  return new InvalidRequest("parameter_invalid", `The last of the "messages" ${expectation}.`);
}
