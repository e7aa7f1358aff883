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

/** Warns of names in `effects` and `approvals` that no tool of the App can have: what they say would have no effect. */
export function warnOfUnknownTools(
  settings: ToolSettings,
  path: readonly string[],
  findings: Findings,
): void {
  const { builtIn, own, mcp, openapi, wallet } = settings;
  const names = [...builtIn, ...Object.keys(own), ...(wallet === null ? [] : WALLET_TOOLS)];
  const prefixes = [...Object.keys(mcp), ...Object.keys(openapi)].map((server) => `${server}_`);
  for (const key of ["effects", "approvals"] as const) {
    for (const name of Object.keys(settings[key])) {
      if (names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix))) continue;
      const known = [...names, ...prefixes.map((prefix) => `${prefix}…`)];
      findings.warn([...path, key, name], `no tool of this App has this name.${suggestion(name, known)}`);
    }
  }
}
