// Parses requests of `DefaultChatTransport`. Only the last message counts, because the service stores the conversation.

import { ATTACHMENTS_MAX, SessionId } from "@colloquy/protocol";
import { z } from "zod";
import {
  AppName,
  ClientId,
  ClientToolsField,
  InvalidRequest,
  isJsonObject,
  type JsonObject,
  optional,
  PublicKey,
  readMessage,
  UserStateField,
} from "@colloquy/server/protocol";
import { readFilePart, type SentFile } from "./file-parts.ts";
import { readAnswer, type CallAnswer } from "./ui-message.ts";
import type { KnownAnswer } from "./answer-chunks.ts";

const GENERATE_IDS = "Give `useChat` the option `generateId: () => crypto.randomUUID()`";

const ChatId = z
  .string(`must be a UUID. ${GENERATE_IDS}`)
  .refine((id) => SessionId.safeParse(id).success, `must be a UUID. ${GENERATE_IDS}`)
  .meta({ description: "Id of the chat, which is the session's: a UUID", format: "uuid" });

export const ChatPath = z.object({ id: ChatId });

export const ChatBody = z
  // Pages may add other fields.
  .looseObject({
    id: ChatId,
    messages: z
      .array(z.unknown(), "must be an array of messages")
      .min(1, "must hold at least one message")
      .meta({
        description:
          "`UIMessage`s. Only the last one is read: the service has the others. It and the other fields may have 1 MiB together",
      }),
    trigger: z.enum(
      ["submit-message", "regenerate-message"],
      'must be "submit-message" or "regenerate-message"',
    ),
    messageId: optional(z.string("must be a string").nullable()).meta({
      description: "Id of the message that is edited, regenerated or answered",
    }),
    app: optional(AppName.nullable()),
    rig: optional(z.string("must be a string").nullable()).meta({
      description: "Model of the App that answers this message and the next ones",
    }),
    public_key: optional(PublicKey.nullable()),
    user_state: optional(UserStateField.nullable()),
    client_id: optional(ClientId.nullable()),
    client_tools: ClientToolsField.nullish(),
  })
  .meta({
    example: {
      id: "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11",
      messages: [
        {
          id: "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11",
          role: "user",
          parts: [{ type: "text", text: "what is 12 * 7?" }],
        },
      ],
      trigger: "submit-message",
    },
  });
export type ChatBody = z.output<typeof ChatBody>;

/** A user's message to answer. */
export interface SentText {
  readonly kind: "text";
  /** The client's id of the message. */
  readonly id: string;
  readonly text: string;
  readonly files: readonly SentFile[];
}

/** An answer with decided calls. */
export interface SentAnswer {
  readonly kind: "answer";
  readonly id: string;
  readonly known: KnownAnswer;
  readonly answers: readonly CallAnswer[];
}

const MESSAGE_ID = z.uuid().toLowerCase();

/** @throws InvalidRequest if the service cannot answer or continue the last message */
export function readLastMessage({ id: chatId, messages, trigger }: ChatBody): SentText | SentAnswer {
  const last = messages.at(-1);
  if (!isJsonObject(last)) throw invalidMessage("must be an object");
  const { id, role, parts } = last;
  if (!Array.isArray(parts)) throw invalidMessage("must have `parts`");
  const { data: messageId } = MESSAGE_ID.safeParse(id);
  if (messageId === undefined) throw invalidMessage(`must have a UUID as its id. ${GENERATE_IDS}`);
  // The session's id opens it, and operators who may not use the session see ids of messages.
  if (messageId === chatId.toLowerCase())
    throw invalidMessage("must have another id than the chat. Generate one for each message");
  if (role === "user") return { kind: "text", id: messageId, ...readParts(parts) };
  if (role === "assistant" && trigger === "submit-message")
    return { kind: "answer", id: messageId, ...readAnswer(parts) };
  throw invalidMessage("must be one of the user, or one of the assistant whose calls were answered");
}

function readParts(parts: readonly unknown[]): Pick<SentText, "text" | "files"> {
  const objects = parts.filter(isJsonObject);
  const files = objects.filter(({ type }) => type === "file").map(readFilePart);
  if (files.length > ATTACHMENTS_MAX)
    throw new InvalidRequest("parameter_invalid", `A message may have at most ${ATTACHMENTS_MAX} files.`);
  const text = objects.map((part) => (part["type"] === "text" ? textOf(part) : "")).join("");
  return { text: readMessage(text, files.length > 0), files };
}

function textOf({ text }: JsonObject): string {
  return typeof text === "string" ? text : "";
}

function invalidMessage(expectation: string): InvalidRequest {
  return new InvalidRequest("parameter_invalid", `The last of the "messages" ${expectation}.`);
}
