import { randomUUID } from "node:crypto";
import type { ChatInput } from "../chat.ts";

/** A chat that says `text` and nothing else, and does not claim its turn. `models`: those of its App. */
export function plainChat(text: string, models: readonly string[]): ChatInput {
  return {
    app: "default",
    messageId: randomUUID(),
    text,
    publicKey: null,
    userState: null,
    clientId: null,
    onBusy: "enqueue",
    maxQueued: 10,
    maxMessageBytes: 16 * 1024 * 1024,
    models,
    claim: null,
    fullProviders: [],
    streamed: null,
    idempotency: null,
  };
}
