import type { SecretSlot } from "@colloquy/protocol";
import type { JsonObject } from "../../core/json.ts";
import type { SecretService } from "../../core/ports/driving/services.ts";
import { readSecretValues } from "../../core/secrets.ts";

export class InMemorySecrets implements SecretService {
  readonly slots: readonly SecretSlot[] = [
    { name: "ALCHEMY_KEY", description: "Key of a provider", required: true },
    { name: "OTHER_KEY", description: "Another one", required: false },
  ];
  /** Values by App and client, then by slot. */
  readonly kept = new Map<string, Map<string, string>>();
  /** Error of every method, if set. */
  failure: Error | null = null;

  async names(app: string, clientId: string): Promise<readonly string[]> {
    return [...this.#of(app, clientId).keys()].toSorted();
  }

  async set(app: string, clientId: string, values: JsonObject): Promise<readonly string[]> {
    const read = readSecretValues(app, this.slots, values);
    for (const [name, value] of Object.entries(read)) this.#of(app, clientId).set(name, value);
    return await this.names(app, clientId);
  }

  async remove(app: string, clientId: string, name: string | null): Promise<number> {
    const kept = this.#of(app, clientId);
    const names = name === null ? [...kept.keys()] : [name];
    return names.filter((each) => kept.delete(each)).length;
  }

  #of(app: string, clientId: string): Map<string, string> {
    if (this.failure !== null) throw this.failure;
    const key = JSON.stringify([app, clientId]);
    const kept = this.kept.get(key) ?? new Map<string, string>();
    this.kept.set(key, kept);
    return kept;
  }
}
