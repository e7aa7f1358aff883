// Provides the secrets of a turn's client to its tools.

import type { JsonValue } from "../core/json.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { OpenSecrets, SecretVault } from "../core/ports/driven/secret-vault.ts";
import { SecretMissing, type ToolTurn } from "../core/ports/driven/tool.ts";
import type { CallScope } from "./call-tool.ts";
import { createScrubber } from "./scrub.ts";

const NO_SECRETS: OpenSecrets = new Map();

export interface SecretOptions {
  /** Names of the secrets that the App declares. */
  readonly declared: ReadonlySet<string>;
  readonly vault: SecretVault | null;
  readonly logger: Logger;
}

/** Opens the client's secrets for the App. Never rejects: unreadable secrets fail when a tool needs them. */
export async function openScope(turn: ToolTurn, options: SecretOptions): Promise<CallScope> {
  const { declared, vault, logger } = options;
  let values: OpenSecrets | null = NO_SECRETS;
  if (declared.size > 0 && turn.clientId !== null && vault !== null) {
    values = await vault.open(turn.app, turn.clientId).catch((error: unknown) => {
      logger.warn({ app: turn.app, err: error }, "the secrets of a turn's client cannot be read");
      return null;
    });
  }
  const opened = values;
  return {
    turn,
    secret(name) {
      if (!declared.has(name)) throw new Error(`The App declares no secret "${name}".`);
      if (opened === null) throw new Error("Secrets cannot be read at the moment. Try again later.");
      const value = opened.get(name);
      if (value === undefined) throw new SecretMissing(name);
      return value;
    },
    scrub: opened === null || opened.size === 0 ? unchanged : createScrubber([...opened.values()]),
  };
}

function unchanged(value: JsonValue): JsonValue {
  return value;
}
