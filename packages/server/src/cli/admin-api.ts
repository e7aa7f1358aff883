// The admin API of a service, for commands.

import { ColloquyError } from "@colloquy/client";
import { type AdminClient, createAdminClient } from "@colloquy/client/admin";
import {
  baseUrl,
  CommandFailure,
  type CommandParts,
  configuration,
  describeConnectionError,
  readKey,
} from "./command.ts";

export function adminKey(parts: CommandParts): string {
  return readKey(parts, "COLLOQUY_ADMIN_KEY");
}

/** Rejects with a `CommandFailure` if the service cannot be reached or rejects the admin key. */
export async function atAdminApi<Result>(
  parts: CommandParts,
  url: string,
  work: (client: AdminClient) => Promise<Result>,
): Promise<Result> {
  const key = adminKey(parts);
  if (key === "") {
    throw new CommandFailure("Colloquy: Set COLLOQUY_ADMIN_KEY to the admin key of that service.", 2);
  }
  try {
    return await work(createAdminClient({ baseUrl: url, key, retries: 1 }));
  } catch (error) {
    throw describeConnectionError(url, describeAdminError(url, error));
  }
}

function describeAdminError(url: string, error: unknown): unknown {
  switch (error instanceof ColloquyError ? error.code : null) {
    case "route_not_found":
      return new CommandFailure(
        `Colloquy: There is no admin API at ${url}. Check the URL, or start that service with COLLOQUY_ADMIN_KEY set.`,
      );
    case "admin_key_invalid":
      return new CommandFailure(
        `Colloquy: ${url} rejects this COLLOQUY_ADMIN_KEY. Set it to the key that the service was started with.`,
      );
    default:
      return error;
  }
}

/** Returns the given URL, or that of the service that runs here. */
export async function serviceUrl(parts: CommandParts, url: string | undefined): Promise<string> {
  if (url !== undefined) return baseUrl(url);
  const running = await (await parts.localServices()).findRunning(await configuration(parts));
  if (running === null)
    throw new CommandFailure("Colloquy: No service runs on this data. Start it, or name one with --url.");
  return running;
}
