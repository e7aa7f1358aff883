import { afterEach } from "vitest";
import { type ProtocolService, startProtocolService } from "./protocol-service.ts";

/** Returns a function that starts a service, which ends with the test. */
export function useProtocolService(): typeof startProtocolService {
  let service: ProtocolService | null = null;
  afterEach(() => service?.close());
  return async (options) => (service = await startProtocolService(options));
}

/** Posts JSON. `headers` may replace the content type. */
export async function post(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const json = { "Content-Type": "application/json" };
  return await fetch(url, { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) });
}
