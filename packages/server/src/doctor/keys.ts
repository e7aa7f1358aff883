import type { KeyRing } from "../apps/secrets/key-ring.ts";
import { broken, failed, type Finding, ok, skipped, warning } from "./finding.ts";

export interface ExaminedKeys {
  /** `null` where a master key has to be given, and is not. */
  readonly ring: KeyRing | null;
  /** How many secrets each master key has sealed, by its id; `null` where the database could not be read. */
  readonly secretsByKey: Readonly<Record<string, number>> | null;
  /** Whether some App has slots for secrets. */
  readonly hasSlots: boolean;
}

/** Whether the master keys are there that the secrets of Apps were sealed with. No secret is opened. */
export async function examineKeys({ ring, secretsByKey, hasSlots }: ExaminedKeys): Promise<Finding> {
  if (secretsByKey === null)
    return skipped("keys", "The secrets could not be looked at without the database.");
  const secrets = Object.values(secretsByKey).reduce((sum, count) => sum + count, 0);
  if (ring === null) return withoutRing(secrets, hasSlots);
  let known: ReadonlySet<string>;
  let isExposed: boolean;
  try {
    known = new Set((await ring.read()).map(({ id }) => id));
    isExposed = await ring.isExposed();
  } catch (error) {
    return failed(
      "keys",
      "The master key cannot be read",
      error,
      `Mend ${ring.place}: until then secrets are answered with 503.`,
    );
  }
  const lost = Object.entries(secretsByKey).filter(([id]) => !known.has(id));
  if (lost.length > 0) {
    const list = lost.map(([id, count]) => `${count} by ${id}`).join(", ");
    return broken(
      "keys",
      `Secrets were sealed by master keys that are not in ${ring.place}: ${list}.`,
      "Put the old keys back behind the newer ones; if they are lost for good: colloquy secrets rotate-master --discard-unreadable.",
    );
  }
  if (isExposed) {
    const mend = "Let only its owner: chmod 600, and then: colloquy secrets rotate-master.";
    return warning("keys", `Other users of this machine may read the master key in ${ring.place}.`, mend);
  }
  if (known.size === 0) return ok("keys", "There is no master key yet: the first secret makes one.");
  return ok(
    "keys",
    `The master key is there, in ${ring.place}, and ${counted(secrets)} can be opened with it.`,
  );
}

function withoutRing(secrets: number, hasSlots: boolean): Finding {
  const mend =
    "Set COLLOQUY_SECRET_KEY, the same on every node, for example to what this prints: openssl rand -base64 32";
  if (secrets > 0) {
    const mendWithOld =
      "Set COLLOQUY_SECRET_KEY to the key that sealed them, the same on every node. After a move from SQLite it is in the file secret.key.";
    return broken(
      "keys",
      `There is no master key, and ${counted(secrets)} cannot be opened without.`,
      mendWithOld,
    );
  }
  return hasSlots
    ? warning(
        "keys",
        "There is no master key, and an App has slots for secrets: they are answered with 503.",
        mend,
      )
    : ok("keys", "There is no master key, and nothing that needs one.");
}

function counted(secrets: number): string {
  return secrets === 1 ? "1 secret" : `${secrets} secrets`;
}
