// The service that is talked with, and the conversations there.

import type { Client, LiveSession } from "@colloquy/client";
import type { Snapshot } from "@colloquy/protocol";
import type { Config } from "../../config/config.ts";
import type { RememberedThreads } from "./remembered-threads.ts";

export interface ChatPlace {
  readonly client: Client;
  /** Under which threads are remembered: the same for each start of the same service. */
  readonly serviceName: string;
  readonly threads: RememberedThreads;
  /** Wallet to bind. */
  readonly publicKey: string | null;
}

/** Under which the threads of the service that is configured here are remembered. */
export function localServiceName({ databaseUrl, server }: Config): string {
  if (databaseUrl === null) return `file:${server.dataDirectory}`;
  const { host, pathname } = new URL(databaseUrl.reveal());
  return `postgres://${host}${pathname}`;
}

/** The session to talk in, with the model that was asked for. Rejects with a `ColloquyError` when there is none of this id, or no such model. */
export async function chosenSession(
  { client }: ChatPlace,
  id: string | null,
  model: string | null,
): Promise<LiveSession> {
  // Of one that does not exist any more, a new one would be made.
  if (id !== null) await client.getSession(id);
  const session = client.session(id ?? undefined);
  if (model !== null) await session.setModel(model);
  return session;
}

/** Takes a conversation that does not exist any more from the list of this machine. */
export async function forgetThread({ threads, serviceName }: ChatPlace, id: string): Promise<void> {
  await threads.forget(serviceName, id);
}

/** Keeps a conversation in the list of this machine, under the title that it has now. Empty ones are not worth it. */
export async function rememberThread(
  { threads, serviceName }: ChatPlace,
  { session_id, title, app, messages }: Snapshot,
): Promise<void> {
  if (messages.length === 0) return;
  await threads.remember({ service: serviceName, session_id, title, app, at: new Date().toISOString() });
}
