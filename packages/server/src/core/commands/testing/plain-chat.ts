import { randomUUID } from "node:crypto";
import type { ChatInput } from "../chat.ts";

/**
 * Returns the input of a chat with only a text, which does not claim its turn. `models` are the models of its
 * App.
 */
export function plainChat(text: string, models: readonly string[]): ChatInput {
  return {
    app: "default",
    messageId: randomUUID(),
    isClientsId: false,
    text,
    replaces: null,
    rig: null,
    publicKey: null,
    provedWallets: [],
    userState: null,
    clientId: null,
    options: {},
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
