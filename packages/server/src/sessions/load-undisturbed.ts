import { Unavailable } from "../core/errors.ts";

const MAX_LOADS = 3;

/**
 * Loads again what others have deleted, or changed faster than it can be followed, while it was loaded. Rejects with 503 when that goes on
 * and on.
 */
export async function loadUndisturbed<Loaded>(load: () => Promise<Loaded | "disturbed">): Promise<Loaded> {
  for (let loads = 0; loads < MAX_LOADS; loads += 1) {
    const loaded = await load();
    if (loaded !== "disturbed") return loaded;
  }
  const detail = "The session changes too fast to be shown at the moment. Send the request again.";
  throw new Unavailable(503, "session_restless", detail, 1);
}
