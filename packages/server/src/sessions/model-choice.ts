import type { SetModelResult } from "@colloquy/protocol";
import { Conflict, InvalidRequest } from "../core/errors.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/apps.ts";
import type { AdmitNewSession, SetModelRequest } from "../core/ports/services.ts";
import type { Store } from "../core/ports/store.ts";
import { appOf, DEFAULT_APP } from "../core/session.ts";
import type { Registry } from "./registry.ts";

/** Which model a session talks to, and which ones there are (contract section 4). */
export class ModelChoices {
  readonly #store: Store;
  readonly #registry: Registry;
  readonly #apps: AppCatalog;

  constructor(store: Store, registry: Registry, apps: AppCatalog) {
    this.#store = store;
    this.#registry = registry;
    this.#apps = apps;
  }

  async setModel(request: SetModelRequest, admit: AdmitNewSession): Promise<SetModelResult> {
    const { sessionId, rig, utilityModel } = request;
    const app = this.#app(request.app ?? (await this.#appOfSession(sessionId)));
    mustOffer(app, "rig", rig);
    if (utilityModel !== null && utilityModel !== app.utilityModel) mustOffer(app, "baml", utilityModel);
    const { outcome, record, created } = await this.#registry.commit(sessionId, admit, (target) =>
      this.#store.sessions.setModel(target, { app: app.name, rig, utilityModel }),
    );
    if (outcome === "app_mismatch") {
      throw new Conflict(
        "app_mismatch",
        "This session belongs to another App. Choose among the models of that App.",
      );
    }
    return { success: true, rig: record.model, baml: record.utilityModel ?? app.utilityModel, created };
  }

  async listModels(sessionId: string | null): Promise<readonly string[]> {
    return this.#app(sessionId === null ? DEFAULT_APP : await this.#appOfSession(sessionId)).models;
  }

  async #appOfSession(sessionId: string): Promise<string> {
    const record = await this.#store.sessions.find(sessionId);
    return record === null ? DEFAULT_APP : appOf(record);
  }

  /** An App that a session was in may have left the configuration; the default one stands in. */
  #app(name: string): AppDefinition {
    const app = this.#apps.get(name) ?? this.#apps.get(DEFAULT_APP);
    if (app === null) throw new Error("The default App is missing");
    return app;
  }
}

function mustOffer(app: AppDefinition, parameter: string, rig: string): void {
  if (app.models.includes(rig)) return;
  const detail = `\`${parameter}\` must be one of this App's models: ${app.models.join(", ")}.`;
  throw new InvalidRequest("unknown_model", detail);
}
