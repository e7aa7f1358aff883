import { createHash, randomUUID } from "node:crypto";
import type { ChatInput } from "../core/decisions/chat.ts";
import type { AppDefinition } from "../core/ports/apps.ts";
import type { ChatRequest } from "../core/ports/services.ts";

/** What a request and its App say of a chat; `maxQueued` messages of a session may wait. */
export function chatInputOf(
  { idempotencyKey: key, message, publicKey, userState, clientId }: ChatRequest,
  app: AppDefinition,
  maxQueued: number,
): Omit<ChatInput, "streamed" | "claim" | "fullProviders"> {
  return {
    app: app.name,
    messageId: randomUUID(),
    text: message,
    publicKey,
    userState,
    clientId,
    onBusy: app.onBusy,
    maxQueued,
    models: app.models,
    idempotency:
      key === null ? null : { key, digest: createHash("sha256").update(message).digest("base64url") },
  };
}
