import type { KeyRing } from "@colloquy/engine/internal/apps/secrets/master-key";
import { broken, failed, type Finding, ok, skipped, warning } from "@colloquy/engine/internal/core/finding";

/**
 * Checks that the master keys of all stored secrets are available; decrypts none. `ring` is `null` if a master key must be
 * configured and is not. `secretsByKey` has the number of secrets per key id; `null` if the database could not be read.
 */
export async function examineKeys(
  ring: KeyRing | null,
  secretsByKey: Readonly<Record<string, number>> | null,
  hasSlots: boolean,
): Promise<Finding> {
  if (secretsByKey === null) return skipped("keys", "Secrets cannot be checked without the database.");
  const secrets = Object.values(secretsByKey).reduce((sum, count) => sum + count, 0);
  if (ring === null) return withoutRing(secrets, hasSlots);
  let known: ReadonlySet<string>;
  let isExposed: boolean;
  try {
    known = new Set((await ring.read()).map(({ id }) => id));
    isExposed = await ring.isExposed();
  } catch (error) {
    const mend = `Fix ${ring.place}: until then requests for secrets fail with 503.`;
    return failed("keys", "The master key cannot be read", error, mend);
  }
  const lost = Object.entries(secretsByKey).filter(([id]) => !known.has(id));
  if (lost.length > 0) {
    const list = lost.map(([id, count]) => `${count} with ${id}`).join(", ");
    return broken(
      "keys",
      `Secrets are encrypted with master keys that are not in ${ring.place}: ${list}.`,
      "Put the old keys back behind the newer ones; if they are lost for good: colloquy secrets rotate-master --discard-unreadable.",
    );
  }
  if (isExposed) {
    const mend = "Restrict it to its owner with chmod 600, then run: colloquy secrets rotate-master.";
    return warning("keys", `Other users of this machine may read the master key in ${ring.place}.`, mend);
  }
  if (known.size === 0) return ok("keys", "There is no master key yet: the first secret creates one.");
  return ok("keys", `The master key is in ${ring.place}, and ${counted(secrets)} can be decrypted with it.`);
}

function withoutRing(secrets: number, hasSlots: boolean): Finding {
  if (secrets > 0) {
    return broken(
      "keys",
      `There is no master key, and ${counted(secrets)} cannot be decrypted without it.`,
      "Set COLLOQUY_SECRET_KEY to the key that encrypted them, the same on every node. After a move from SQLite it is in the file secret.key.",
    );
  }
  if (!hasSlots) return ok("keys", "There is no master key, and nothing that needs one.");
  return warning(
    "keys",
    "There is no master key, but an App has slots for secrets: requests for secrets fail with 503.",
    "Set COLLOQUY_SECRET_KEY to the same value on every node. Make one with: openssl rand -base64 32",
  );
}

function counted(secrets: number): string {
  return secrets === 1 ? "1 secret" : `${secrets} secrets`;
}
