import type { Client } from "@colloquy/client";

type Apps = Awaited<ReturnType<Client["listApps"]>>;

/** Milliseconds for which a response is cached. Short, because an operator may repair a tool source. */
const REUSED_MS = 30_000;
/** Recent requests of this page. The client changes with the key and the App. */
const requests = new WeakMap<Client, Promise<Apps>>();

/**
 * Returns the Apps that the client's key opens, including the default one, each with the problems of its tools.
 * Callers with the same client share one request. It creates a session as a side effect, which is deleted again.
 */
export function openedApps(client: Client): Promise<Apps> {
  const known = requests.get(client);
  if (known !== undefined) return known;
  const request = listApps(client);
  requests.set(client, request);
  const forget = (): void => void requests.delete(client);
  request.then(() => setTimeout(forget, REUSED_MS), forget);
  return request;
}

async function listApps(client: Client): Promise<Apps> {
  const { id: sessionId } = client.session();
  const apps = await client.listApps({ sessionId });
  // If this fails, the empty session expires after an hour.
  void client.deleteThread(sessionId).catch(() => undefined);
  return apps;
}
