import type { Client } from "@colloquy/client";

/**
 * Names of the Apps that the client's key opens, the default one too. The service makes a session of the id that it is asked with, in which nobody
 * will ever say anything: it is taken away again.
 */
export async function openedApps(client: Client): Promise<readonly string[]> {
  const { id: sessionId } = client.session();
  const apps = await client.listApps({ sessionId });
  // Where that fails it goes by itself, after an hour.
  void client.deleteThread(sessionId).catch(() => undefined);
  return apps.map(({ name }) => name);
}
