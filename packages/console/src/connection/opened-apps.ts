import type { Client } from "@colloquy/client";

/**
 * Returns the names of the Apps that the client's key opens, including the default one. The request creates a
 * session as a side effect, which is deleted again.
 */
export async function openedApps(client: Client): Promise<readonly string[]> {
  const { id: sessionId } = client.session();
  const apps = await client.listApps({ sessionId });
  // If this fails, the empty session expires after an hour.
  void client.deleteThread(sessionId).catch(() => undefined);
  return apps.map(({ name }) => name);
}
