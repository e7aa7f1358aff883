import type { SetModelResult } from "@colloquy/protocol";
import { AppGone, Conflict, InvalidRequest } from "../core/errors.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import type {
  NewSessionOptions,
  ListModelsRequest,
  SetModelRequest,
  AppChoice,
} from "../core/ports/driving/services.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Sets and lists the models of a session (contract section 4). */
export class ModelChoices {
  readonly #store: Store;
  readonly #registry: SessionRegistry;
  readonly #apps: AppCatalog;

  constructor(store: Store, registry: SessionRegistry, apps: AppCatalog) {
    this.#store = store;
    this.#registry = registry;
    this.#apps = apps;
  }

  async setModel(request: SetModelRequest, creation: NewSessionOptions): Promise<SetModelResult> {
    const { sessionId, access, rig, utilityModel } = request;
    const name = request.app ?? (await this.#appOfSession(sessionId)) ?? request.keyApp ?? DEFAULT_APP;
    const app = this.#allowed(name, request);
    assertOffered(app, "rig", rig);
    if (utilityModel !== null && utilityModel !== app.utilityModel) assertOffered(app, "baml", utilityModel);
    const command = { kind: "setModel", input: { app: app.name, rig, utilityModel } } as const;
    const { outcome, record, created } = await this.#registry.executeOrCreate(
      sessionId,
      access,
      creation,
      command,
    );
    if (outcome === "app_mismatch") throw appMismatch();
    return { success: true, rig: record.model, baml: record.utilityModel ?? app.utilityModel, created };
  }

  /** Returns the models of the session's App, or of the App that the request resolves to. Creates the named session, unless it was deleted. */
  async listModels(request: ListModelsRequest, creation: NewSessionOptions): Promise<readonly string[]> {
    const { sessionId, access, app, keyApp } = request;
    const belongsTo = sessionId === null ? null : await this.#appOfSession(sessionId);
    const { models } = this.#allowed(belongsTo ?? app ?? keyApp ?? DEFAULT_APP, request);
    if (belongsTo !== null && app !== null && app !== belongsTo) {
      request.authorize(app);
      throw appMismatch();
    }
    if (sessionId !== null) await this.#registry.ensure(sessionId, access, creation);
    return models;
  }

  /** Returns the App of the session, or `null` before its first chat. */
  async #appOfSession(sessionId: string): Promise<string | null> {
    return (await this.#store.sessions.find(sessionId))?.app ?? null;
  }

  #allowed(name: string, { authorize }: AppChoice): AppDefinition {
    authorize(name);
    const app = this.#apps.get(name);
    // The App may have been removed from the configuration; do not fall back to another one.
    if (app === null) throw new AppGone();
    return app;
  }
}

function appMismatch(): Conflict {
  return new Conflict(
    "app_mismatch",
    "This session belongs to another App. Choose among the models of that App.",
  );
}

/** @throws InvalidRequest if the App does not offer the model */
export function assertOffered(app: AppDefinition, parameter: string, rig: string): void {
  if (app.models.includes(rig)) return;
  const detail = `\`${parameter}\` must be one of this App's models: ${app.models.join(", ")}.`;
  throw new InvalidRequest("unknown_model", detail);
}
