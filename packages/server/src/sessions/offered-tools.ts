// Tools that a chat offers and its client runs.

import { COUNTING_TOOL, type ToolSettings } from "../core/app-settings.ts";
import { InvalidRequest } from "../core/errors.ts";
import type { AppDefinition } from "../core/ports/driven/apps.ts";
import type { TurnOptions } from "../core/turn-options.ts";

/** Throws `InvalidRequest` if the App takes no tools from chats, or has a tool with one of the names itself. */
export function assertToolsAllowed(app: Pick<AppDefinition, "tools">, { clientTools }: TurnOptions): void {
  if (clientTools === undefined) return;
  if (app.tools.allowsClientTools !== true) {
    throw new InvalidRequest(
      "client_tools_not_allowed",
      "This App accepts no tools from chats. Omit `client_tools`, or set `allowClientTools` in the App's configuration.",
    );
  }
  const taken = Object.keys(clientTools).find((name) => isTaken(name, app.tools));
  if (taken === undefined) return;
  throw new InvalidRequest(
    "client_tool_name_taken",
    `The App already has a tool "${taken}", or a server whose tools may have this name. Rename the tool in \`client_tools\`.`,
  );
}

function isTaken(name: string, { builtIn, own, client = {}, wallet, mcp, openapi }: ToolSettings): boolean {
  if ([...builtIn, COUNTING_TOOL].includes(name)) return true;
  if (Object.hasOwn(own, name) || Object.hasOwn(client, name)) return true;
  if (wallet !== null && name.startsWith("wallet_")) return true;
  return [mcp, openapi].some((servers) =>
    Object.keys(servers).some((server) => name.startsWith(`${server}_`)),
  );
}
