import type { Snapshot } from "@colloquy/protocol";
import type { ChatPlace } from "./chat-place.ts";

/** Keeps a conversation in the list of this machine, under the title that it has now. Empty ones are not worth it. */
export async function rememberThread(
  { threads, serviceName }: ChatPlace,
  { session_id, title, app, messages }: Snapshot,
): Promise<void> {
  if (messages.length === 0) return;
  await threads.remember({ service: serviceName, session_id, title, app, at: new Date().toISOString() });
}
