// `effects` and `approvals` use the tool names that a model sees. For servers, only the prefixes are known in advance.

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
 * Rejects names in `effects` and `approvals` that no tool of the App can have: a misspelt name would leave the intended
 * tool without approval. `section` is the App's unvalidated section, so that an invalid tool or server is not also
 * reported as an unknown name.
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
  for (const [key, entries] of Object.entries({ effects, approvals })) {
    for (const name of Object.keys(entries)) {
      if (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) continue;
      findings.problem([...path, key, name], `no tool of this App has this name.${suggestion(name, known)}`);
    }
  }
}

/** Returns the strings of a list, or the keys of an object. */
function namesIn(section: unknown): readonly string[] {
  if (typeof section !== "object" || section === null) return [];
  return Array.isArray(section) ? section.filter((name) => typeof name === "string") : Object.keys(section);
}
