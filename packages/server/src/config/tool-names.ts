// `effects` and `approvals` go by the names that a model sees. Those of servers are not known before they are asked, but their prefixes are.

import type { ToolSettings } from "../core/app-settings.ts";
import type { Findings } from "./findings.ts";
import { suggestion } from "./nearest-name.ts";

/** The tools of an App with a wallet. */
export const WALLET_TOOLS = [
  "wallet_balance",
  "wallet_token_balance",
  "wallet_token_info",
  "wallet_ens_name",
  "wallet_estimate_gas",
  "wallet_request_transaction",
  "wallet_request_signature",
] as const;

/**
 * Refuses names in `effects` and `approvals` that no tool of the App can have: what they say would have no effect, and where a name is
 * misspelt nobody would be asked before the calls of the tool that was meant. `section` is the App's as it stands in the file: a tool or
 * a server that is wrong there is no unknown name.
 */
export function refuseUnknownTools(
  { builtIn, effects, approvals }: ToolSettings,
  section: Readonly<Record<string, unknown>>,
  { path, findings }: { readonly path: readonly string[]; readonly findings: Findings },
): void {
  const { tools, mcp, openapi, wallet } = section;
  const hasWallet = wallet !== undefined && wallet !== false;
  const names = new Set([...builtIn, ...namesIn(tools), ...(hasWallet ? WALLET_TOOLS : [])]);
  const prefixes = [...namesIn(mcp), ...namesIn(openapi)].map((server) => `${server}_`);
  const known = [...names, ...prefixes.map((prefix) => `${prefix}…`)];
  for (const [key, said] of Object.entries({ effects, approvals })) {
    for (const name of Object.keys(said)) {
      if (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) continue;
      findings.problem([...path, key, name], `no tool of this App has this name.${suggestion(name, known)}`);
    }
  }
}

/** The words of a list, or the keys of an object. */
function namesIn(section: unknown): readonly string[] {
  if (typeof section !== "object" || section === null) return [];
  return Array.isArray(section) ? section.filter((name) => typeof name === "string") : Object.keys(section);
}
