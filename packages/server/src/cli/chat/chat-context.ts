// The service of a chat and its list of conversations.

import type { Client, LiveSession } from "@colloquy/client";
import type { Config } from "../../config/config.ts";
import type { RememberedThreads } from "./remembered-threads.ts";

/** Number of latest messages that a session loads. */
export const LOADED = { messages: 50 };

export interface ChatContext {
  readonly client: Client;
  readonly serviceName: string;
  readonly threads: RememberedThreads;
  /** Wallet to bind. */
  readonly publicKey: string | null;
}

/** Returns a name for the service configured here that stays the same across restarts. */
export function localServiceName({ backend, server }: Config): string {
  const { plugin, settings } = backend;
  if (plugin.nodes === undefined) return `file:${server.dataDirectory}`;
  const { url } = settings.reveal();
  const { host = "", pathname = "" } = (typeof url === "string" ? URL.parse(url) : null) ?? {};
  return `${plugin.name === "postgresql" ? "postgres" : plugin.name}://${host}${pathname}`;
}

/** Opens or creates a session and sets its model. Rejects with a `ColloquyError` if the id or the model does not exist. */
export async function chosenSession(
  { client }: ChatContext,
  id: string | null,
  model: string | null,
): Promise<LiveSession> {
  // Check first: opening an id that no longer exists would create a new session.
  if (id !== null) await client.getSession(id);
  const session = client.session(id ?? undefined, LOADED);
  if (model !== null) await session.setModel(model);
  return session;
}
