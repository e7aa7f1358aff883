import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** The answer that is being sent on a connection. Node keeps it there, and its own `closeIdleConnections` looks there too. */
export function answering(socket: Duplex): ServerResponse | null {
  return (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}
