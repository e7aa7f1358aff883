import { createHash, randomUUID } from "node:crypto";
import type { ChatInput } from "../core/commands/chat.ts";
import type { AppDefinition } from "../core/ports/driven/apps.ts";
import type { ChatRequest } from "../core/ports/driving/services.ts";

/** The limits of one session that every chat is checked against. */
export type SessionLimits = Pick<ChatInput, "maxQueued" | "maxMessageBytes">;

/** The input of a chat, as far as its request, its App and the limits determine it. */
export function chatInputOf(
  { idempotencyKey: key, message, publicKey, userState, clientId }: ChatRequest,
  app: AppDefinition,
  limits: SessionLimits,
): Omit<ChatInput, "streamed" | "claim" | "fullProviders"> {
  return {
    app: app.name,
    messageId: randomUUID(),
    text: message,
    publicKey,
    userState,
    clientId,
    onBusy: app.onBusy,
    ...limits,
    models: app.models,
    idempotency:
      key === null ? null : { key, digest: createHash("sha256").update(message).digest("base64url") },
  };
}
