// Opens the service for the commands `chat` and `acp`.

import { type ClientOptions, createClient } from "@colloquy/client";
import type { LocalService } from "../../wiring/local-service.ts";
import { baseUrl, type CommandParts, configuration, describeConnectionError, readKey } from "../command.ts";
import { localServiceName } from "./chat-context.ts";

/** Returns client options with the App, and the key and token in the environment. */
export function clientOptions(parts: CommandParts, { app }: { readonly app?: string }): ClientOptions {
  const key = readKey(parts, "COLLOQUY_APP_KEY");
  const token = readKey(parts, "COLLOQUY_TOKEN");
  return {
    ...(app !== undefined && { app }),
    ...(key !== "" && { key }),
    ...(token !== "" && { token: () => token }),
  };
}

/** Sends one request without retries. Throws if the service is unreachable or rejects the key. */
export async function reach(options: ClientOptions & { readonly baseUrl: string }): Promise<void> {
  try {
    await createClient({ ...options, retries: 0 }).listModels();
  } catch (error) {
    throw describeConnectionError(options.baseUrl, error);
  }
}

/**
 * Opens the service at `url`, or the one configured in the working directory. `name` identifies it in local files.
 */
export async function openService(
  parts: CommandParts,
  url: string | undefined,
): Promise<{ readonly service: LocalService; readonly name: string }> {
  if (url !== undefined) {
    const address = baseUrl(url);
    const service = { url: address, isInProcess: false, stop: () => Promise.resolve() };
    return { service, name: address };
  }
  const [config, { openLocalService }] = await Promise.all([configuration(parts), parts.localServices()]);
  const service = await openLocalService(config, parts.host.pid);
  return { service, name: localServiceName(config) };
}
