// Builds the input of the chat command from its request, App and limits.

import { createHash, randomUUID } from "node:crypto";
import type { ChatInput } from "../core/commands/chat.ts";
import type { AppDefinition } from "../core/ports/driven/apps.ts";
import type { ChatRequest } from "../core/ports/driving/chat-request.ts";
import { provedWallets } from "../core/session-access.ts";
import type { TurnOptions } from "../core/turn-options.ts";

/** Limits that are checked for every chat. */
export type ChatLimits = Pick<ChatInput, "maxQueued" | "maxMessageBytes">;

/** Returns the part of a chat's input that its request, App and limits determine. */
export function chatInputOf(
  {
    idempotencyKey: key,
    message,
    replaces = null,
    rig = null,
    publicKey,
    userState,
    clientId,
    options = {},
    messageId,
    access,
  }: ChatRequest,
  app: AppDefinition,
  limits: ChatLimits,
): Omit<ChatInput, "streamed" | "claim" | "fullProviders"> {
  return {
    app: app.name,
    messageId: messageId ?? randomUUID(),
    isClientsId: messageId !== undefined,
    text: message,
    replaces,
    rig,
    publicKey,
    provedWallets: provedWallets(app.name, access),
    userState,
    clientId,
    options,
    onBusy: app.onBusy,
    ...limits,
    models: app.models,
    idempotency: key === null ? null : { key, digest: digestOf(message, replaces, options) },
  };
}

/** Returns the digest of what an idempotency key stands for. Of a text alone, it equals that of older versions. */
function digestOf(message: string, replaces: string | null, options: TurnOptions): string {
  const isTextAlone = replaces === null && Object.keys(options).length === 0;
  const text = isTextAlone ? message : JSON.stringify([message, replaces, options]);
  return createHash("sha256").update(text).digest("base64url");
}
