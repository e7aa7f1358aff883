// Builds the input of the chat command from its request, App and limits.

import { createHash, randomUUID } from "node:crypto";
import type { ChatInput, ChatRejection, OnBusy } from "../core/commands/chat.ts";
import type { AppDefinition } from "../core/ports/driven/apps.ts";
import type { ChatRequest } from "../core/ports/driving/chat-request.ts";
import { provedWallets } from "../core/session-access.ts";
import { isGiven, type RequestedOptions } from "../core/requested-options.ts";
import type { TurnOptions } from "../core/turn-options.ts";
import { InvalidRequest, ServiceError } from "../core/errors.ts";
import { COUNTING_TOOL, type ToolSettings } from "../core/app-settings.ts";

/** A chat whose options have been read. */
export interface PermittedChat extends Omit<ChatRequest, "options" | "busy"> {
  readonly options: TurnOptions;
  readonly onBusy: OnBusy;
}

/**
 * Returns the effect of a chat on a session that is busy. A chat chooses between those of an App that accepts it; one
 * that must have a turn of its own does not steer.
 */
export function onBusyOf(
  { onBusy }: Pick<AppDefinition, "onBusy">,
  { busy = null }: Pick<ChatRequest, "busy">,
  { hasOwnTurn }: { readonly hasOwnTurn: boolean },
): OnBusy {
  const chosen = onBusy === "reject" ? onBusy : (busy ?? onBusy);
  return chosen === "steer" && hasOwnTurn ? "enqueue" : chosen;
}

/** Limits that are checked for every chat. */
export type ChatLimits = Pick<ChatInput, "maxQueued" | "maxMessageBytes">;

/** Returns the part of a chat's input that its request, App and limits determine. */
export function chatInputOf(
  {
    idempotencyKey: key,
    message,
    attachments = [],
    replaces = null,
    follows = null,
    rig = null,
    publicKey,
    userState,
    clientId,
    options,
    onBusy,
    messageId,
    isTitled = true,
    access,
  }: PermittedChat,
  app: AppDefinition,
  limits: ChatLimits,
): Omit<ChatInput, "streamed" | "claim" | "fullProviders"> {
  return {
    app: app.name,
    messageId: messageId ?? randomUUID(),
    isClientsId: messageId !== undefined,
    text: message,
    attachments,
    replaces,
    follows,
    rig,
    publicKey,
    provedWallets: provedWallets(app.name, access),
    userState,
    clientId,
    options,
    isTitled,
    onBusy,
    ...limits,
    models: app.models,
    idempotency: key === null ? null : { key, digest: digestOf({ message, attachments, replaces, options }) },
  };
}

/**
 * Returns the digest of a chat for the comparison of repeats. What the message asks for counts: its text,
 * files, `replaces` and the options. What describes its sender does not: rig, wallet, user state, client. For
 * a plain text the digest must equal that of older versions.
 */
function digestOf({
  message,
  attachments,
  replaces,
  options,
}: {
  readonly message: string;
  readonly attachments: readonly string[];
  readonly replaces: string | null;
  readonly options: TurnOptions;
}): string {
  const files = attachments.length === 0 ? [] : [attachments];
  const isTextAlone = files.length === 0 && replaces === null && Object.keys(options).length === 0;
  const text = isTextAlone ? message : JSON.stringify([message, replaces, options, ...files]);
  return createHash("sha256").update(text).digest("base64url");
}

/** HTTP status and error detail of each rejection. */
const REJECTIONS: Readonly<Record<ChatRejection, readonly [status: number, detail: string]>> = {
  app_mismatch: [
    409,
    "This session belongs to another App. Use that App, or start a session of its own here.",
  ],
  session_busy: [
    409,
    "The assistant is still answering. Wait until is_processing is false, or interrupt it.",
  ],
  queue_full: [429, "Too many messages wait in this session. Wait for answers, or interrupt."],
  session_full: [
    409,
    "This conversation is full. Start a new thread to go on; the messages in this one stay readable.",
  ],
  attachment_not_found: [
    400,
    "`attachments` names a file that this conversation does not have. Upload it with the same X-Session-Id; one that no message uses is removed after a day.",
  ],
  attachment_of_other_app: [400, "`attachments` names a file of another App. Upload the file for this App."],
  message_not_found: [
    404,
    "The session has no message with the id in `replaces`. Its snapshot shows the ids of its messages.",
  ],
  message_exists: [
    409,
    "The session has a message with this id and another text. Choose a new UUID for a new message.",
  ],
  message_not_last: [
    409,
    "Another message was added to the conversation first. Fetch the conversation, and send your message again.",
  ],
  not_a_user_message: [
    400,
    "`replaces` must be the id of a user's message. To regenerate an answer, send the id of the user's message before it.",
  ],
  user_state_too_large: [400, "The merged user_state must be at most 8 KiB of JSON, nested at most 16 deep."],
  idempotency_key_reused: [
    409,
    "This Idempotency-Key was used with another message. Use a new key for a new message.",
  ],
};

export function chatRejection(reason: ChatRejection): ServiceError {
  const [status, detail] = REJECTIONS[reason];
  return new ServiceError(status, reason, detail, status === 429 ? { headers: { "retry-after": "5" } } : {});
}

/** Throws `InvalidRequest` if the App accepts no client tools. Comes before anything looks at the tools. */
export function assertToolsAllowed(
  app: Pick<AppDefinition, "tools">,
  { clientTools }: RequestedOptions,
): void {
  if (!isGiven(clientTools) || app.tools.allowsClientTools === true) return;
  throw new InvalidRequest(
    "client_tools_not_allowed",
    "This App accepts no tools from requests. Send none, or set `allowClientTools` in the App's configuration.",
  );
}

/** Throws `InvalidRequest` if the App has its own tool with one of the names. */
export function assertNamesFree(
  app: Pick<AppDefinition, "tools">,
  clientTools: NonNullable<TurnOptions["clientTools"]>,
): void {
  const taken = Object.keys(clientTools).find((name) => isTaken(name, app.tools));
  if (taken === undefined) return;
  throw new InvalidRequest(
    "client_tool_name_taken",
    `The App already has a tool "${taken}", or a server whose tools may have this name. Rename the tool of the request.`,
  );
}

function isTaken(name: string, { builtIn, own, client = {}, wallet, sources }: ToolSettings): boolean {
  if ([...builtIn, COUNTING_TOOL].includes(name)) return true;
  if (Object.hasOwn(own, name) || Object.hasOwn(client, name)) return true;
  if (wallet !== null && name.startsWith("wallet_")) return true;
  return sources.some((source) => name.startsWith(`${source.name}_`));
}
