import type { Client } from "@colloquy/client";

type Apps = Awaited<ReturnType<Client["listApps"]>>;

/** Milliseconds for which a response is cached. Short, so that a repaired tool source shows soon. */
const REUSED_MS = 30_000;
/** Recent requests of this page. A new key or App comes with a new client. */
const requests = new WeakMap<Client, Promise<Apps>>();

/**
 * Returns the Apps that the client's key opens and the default App, each with the problems of its tools.
 * Callers with the same client share one request. Without `sessionId`, the request creates a session, which
 * is deleted again.
 */
export function openedApps(client: Client, sessionId: string | null = null): Promise<Apps> {
  const known = requests.get(client);
  if (known !== undefined) return known;
  const request = sessionId === null ? listApps(client) : client.listApps({ sessionId });
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
