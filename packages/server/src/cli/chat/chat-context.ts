// The service of a chat and its list of conversations.

import type { Client, LiveSession } from "@colloquy/client";
import type { Snapshot } from "@colloquy/protocol";
import type { Config } from "../../config/config.ts";
import type { RememberedThreads } from "./remembered-threads.ts";

export interface ChatContext {
  readonly client: Client;
  /** Key for remembered threads; stable across restarts of the same service. */
  readonly serviceName: string;
  readonly threads: RememberedThreads;
  /** Wallet to bind. */
  readonly publicKey: string | null;
}

/** Returns the key for remembered threads of the service configured here. */
export function localServiceName({ databaseUrl, server }: Config): string {
  if (databaseUrl === null) return `file:${server.dataDirectory}`;
  const { host, pathname } = new URL(databaseUrl.reveal());
  return `postgres://${host}${pathname}`;
}

/** Opens or creates a session and sets its model. Rejects with a `ColloquyError` if the id or the model does not exist. */
export async function chosenSession(
  { client }: ChatContext,
  id: string | null,
  model: string | null,
): Promise<LiveSession> {
  // Check first: opening an id that no longer exists would create a new session.
  if (id !== null) await client.getSession(id);
  const session = client.session(id ?? undefined);
  if (model !== null) await session.setModel(model);
  return session;
}

/** Removes a deleted conversation from this machine's list. */
export async function forgetThread({ threads, serviceName }: ChatContext, id: string): Promise<void> {
  await threads.forget(serviceName, id);
}

/** Adds a conversation to this machine's list under its current title. Skips empty ones. */
export async function rememberThread(
  { threads, serviceName }: ChatContext,
  { session_id, title, app, messages }: Snapshot,
): Promise<void> {
  if (messages.length === 0) return;
  await threads.remember({ service: serviceName, session_id, title, app, at: new Date().toISOString() });
}
