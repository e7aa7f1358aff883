import { logAudit, type Actor, type AuditAction, type AuditEntry } from "../../core/audit.ts";
import { Unavailable } from "../../core/errors.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type {
  SealedSecret,
  SecretStore,
  SigningKeys,
  OpenSecrets,
  SecretVault,
} from "../../core/ports/driven/secret-store.ts";
import type { JsonObject } from "../../core/json.ts";
import type { AppCatalog } from "../../core/ports/driven/apps.ts";
import { readSecretValues } from "../../core/secrets.ts";
import type { KeyRing, MasterKey } from "./master-key.ts";

/** Retries per operation after a concurrent rotation or creation of the first key. */
const ATTEMPTS = 4;
const RETRY_SECONDS = 60;

export interface VaultOptions {
  readonly store: SecretStore;
  /** `null` if the service requires a configured key and has none. */
  readonly ring: KeyRing | null;
  readonly logger: Logger;
}

/**
 * Seals and opens the secrets in the store. Keys are read again whenever one is missing, because they may
 * rotate.
 */
export class Vault implements SecretVault, SigningKeys {
  readonly #store: SecretStore;
  readonly #ring: KeyRing | null;
  readonly #logger: Logger;
  #keys: ReadonlyMap<string, MasterKey> = new Map();

  constructor({ store, ring, logger }: VaultOptions) {
    this.#store = store;
    this.#ring = ring;
    this.#logger = logger;
  }

  get isOpen(): boolean {
    return this.#ring !== null;
  }

  async names(app: string, clientId: string): Promise<readonly string[]> {
    return [...(await this.open(app, clientId)).keys()].toSorted();
  }

  async open(app: string, clientId: string): Promise<OpenSecrets> {
    const ring = this.#requireRing();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const sealed = await this.#store.of(app, clientId);
      if (this.#hasKeysOf(sealed)) return this.#unseal(sealed);
      await this.#readKeys(ring);
      if (this.#hasKeysOf(sealed)) return this.#unseal(sealed);
      // The secrets were resealed, and the old key was removed, between the two reads.
    }
    throw keyMissing();
  }

  async set(
    app: string,
    clientId: string,
    values: Readonly<Record<string, string>>,
    by: Actor | null = null,
  ): Promise<void> {
    const ring = this.#requireRing();
    const entry = entryOf("secrets_set", by, app, Object.keys(values));
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const key = await this.#keyInForce(ring);
      const sealed = Object.entries(values).map(([name, value]): SealedSecret => {
        const place = { app, clientId, name };
        return { ...place, keyId: key.id, sealed: key.seal(place, value) };
      });
      if ((await this.#store.put(sealed, entry)) === key.id) return this.#log(entry);
    }
    throw unavailable("The master key is being rotated. Send the request again.", 1);
  }

  async remove(app: string, clientId: string, name: string | null, by: Actor | null = null): Promise<number> {
    this.#requireRing();
    const entry = entryOf("secrets_removed", by, app, name === null ? null : [name]);
    const removed = await this.#store.remove(app, clientId, name, entry);
    if (removed > 0) this.#log(entry);
    return removed;
  }

  async current(): Promise<MasterKey> {
    return await this.#keyInForce(this.#requireRing());
  }

  async find(id: string): Promise<MasterKey | null> {
    if (this.#ring !== null && !this.#keys.has(id)) await this.#readKeys(this.#ring);
    return this.#knownKey(id);
  }

  /** Logs problems with the keys for the operator. Rejects only if the store fails. */
  async check(): Promise<void> {
    const ring = this.#ring;
    if (ring === null) {
      const sentence =
        "There is no master key: secrets of Apps are answered with 503. Set COLLOQUY_SECRET_KEY, for example to what this prints: openssl rand -base64 32";
      return this.#logger.warn({}, sentence);
    }
    try {
      await this.#readKeys(ring);
      if (await ring.isExposed()) {
        const sentence = `Other users of this machine may read the master key in ${ring.place}. Let only its owner: chmod 600, and rotate it with: colloquy secrets rotate-master`;
        this.#logger.warn({}, sentence);
      }
    } catch (error) {
      const sentence = "The master key cannot be read: secrets of Apps are answered with 503";
      return this.#logger.error({ err: error }, sentence);
    }
    await this.#checkSealed(ring);
  }

  async #checkSealed({ place }: KeyRing): Promise<void> {
    const [newest] = this.#keys.keys();
    for (const [masterKey, secrets] of Object.entries(await this.#store.countByKey())) {
      const about = { masterKey, secrets };
      if (!this.#keys.has(masterKey)) {
        const sentence = `These secrets were sealed by a master key that is not in ${place}. Put it back, behind the newer ones; until then whoever needs them is answered with 503`;
        this.#logger.error(about, sentence);
      } else if (masterKey !== newest) {
        const sentence =
          "These secrets are sealed by an old master key. To finish its rotation: colloquy secrets rotate-master";
        this.#logger.warn(about, sentence);
      }
    }
  }

  #log(entry: AuditEntry | null): void {
    if (entry !== null) logAudit(this.#logger, [entry]);
  }

  #requireRing(): KeyRing {
    if (this.#ring !== null) return this.#ring;
    throw unavailable("This service has no master key, so it keeps no secrets. Its operator can set one.");
  }

  #hasKeysOf(sealed: readonly SealedSecret[]): boolean {
    return sealed.every(({ keyId }) => this.#keys.has(keyId));
  }

  #unseal(sealed: readonly SealedSecret[]): OpenSecrets {
    const open = new Map<string, string>();
    for (const secret of sealed) {
      const value = this.#keys.get(secret.keyId)?.open(secret, secret.sealed) ?? null;
      if (value !== null) {
        open.set(secret.name, value);
        continue;
      }
      // An unreadable secret counts as not set. Callers that need it ask the user to set it, which repairs
      // it.
      const sentence =
        "A sealed secret was changed in the store, or moved there from another place. It counts as not set";
      this.#logger.error({ app: secret.app, slot: secret.name }, sentence);
    }
    return open;
  }

  /** Returns the active key: the store rejects secrets that are sealed with another one. */
  async #keyInForce(ring: KeyRing): Promise<MasterKey> {
    const inForce = await this.#store.keyInForce();
    const known = this.#knownKey(inForce) ?? (await this.#readKeys(ring), this.#knownKey(inForce));
    if (known !== null) return known;
    if (this.#keys.size === 0) await this.#createFirst(ring);
    const [newest] = this.#keys.values();
    const chosen = newest === undefined ? null : await this.#store.bringInForce(newest.id, null);
    const key = this.#knownKey(chosen);
    if (key === null) throw keyMissing();
    return key;
  }

  /** Creates a key only if no secrets are sealed: a new key would hide the loss of the key of existing secrets. */
  async #createFirst(ring: KeyRing): Promise<void> {
    if (ring.createFirst === null) return;
    if (Object.keys(await this.#store.countByKey()).length > 0) throw keyMissing();
    await ring.createFirst();
    await this.#readKeys(ring);
  }

  #knownKey(id: string | null): MasterKey | null {
    return id === null ? null : (this.#keys.get(id) ?? null);
  }

  async #readKeys(ring: KeyRing): Promise<void> {
    try {
      this.#keys = new Map((await ring.read()).map((key) => [key.id, key]));
    } catch (error) {
      const detail = "The master key of this service cannot be read. Its log says why.";
      throw unavailable(detail, RETRY_SECONDS, error);
    }
  }
}

/** `names` are slots; `null` for all of the client. */
function entryOf(
  action: AuditAction,
  by: Actor | null,
  app: string,
  names: readonly string[] | null,
): AuditEntry | null {
  return by === null
    ? null
    : { action, actor: by, app, target: null, details: { names: names === null ? null : [...names] } };
}

function keyMissing(): Unavailable {
  return unavailable(
    "Secrets are kept here that were sealed by a master key which is not here any more. The operator of this service can put it back.",
  );
}

function unavailable(detail: string, retrySeconds = RETRY_SECONDS, cause?: unknown): Unavailable {
  return new Unavailable(503, "secrets_unavailable", detail, retrySeconds, cause);
}

export type SecretService = ReturnType<typeof createSecretService>;

/**
 * The vault for clients (contract section 4), which never returns values: sets only secrets that the App
 * declares. Secrets no longer declared can still be removed.
 */
export function createSecretService(apps: AppCatalog, vault: SecretVault) {
  return {
    /** Returns the names of the slots that are set, in alphabetical order. */
    names: (app: string, clientId: string) => vault.names(app, clientId),
    /** Sets all of the values or none. Returns the names of all slots that are now set. */
    async set(app: string, clientId: string, values: JsonObject, by: Actor): Promise<readonly string[]> {
      const slots = apps.get(app)?.secrets ?? [];
      await vault.set(app, clientId, readSecretValues(app, slots, values), by);
      return await vault.names(app, clientId);
    },
    /** Empties one slot, or all slots if `name` is `null`. Returns how many were set. */
    remove: (app: string, clientId: string, name: string | null, by: Actor) =>
      vault.remove(app, clientId, name, by),
  };
}
