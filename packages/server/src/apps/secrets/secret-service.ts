import type { AppCatalog } from "../../core/ports/driven/apps.ts";
import type { SecretVault } from "../../core/ports/driven/secret-vault.ts";
import type { SecretService } from "../../core/ports/driving/services.ts";
import { readSecretValues } from "../../core/secret-values.ts";

/**
 * The vault for clients: sets only secrets that the App declares. Secrets no longer declared can still be
 * removed.
 */
export function createSecretService(apps: AppCatalog, vault: SecretVault): SecretService {
  return {
    names: (app, clientId) => vault.names(app, clientId),
    async set(app, clientId, values) {
      const slots = apps.get(app)?.secrets ?? [];
      await vault.set(app, clientId, readSecretValues(app, slots, values));
      return await vault.names(app, clientId);
    },
    remove: (app, clientId, name) => vault.remove(app, clientId, name),
  };
}
