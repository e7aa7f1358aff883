import type { AdminApp } from "@colloquy/protocol";
import type { ToolSourceReports } from "../core/ports/driven/tool-source-reports.ts";
import type { AdminStore } from "../core/ports/driven/admin-store.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { KeyService } from "../core/ports/driving/key-service.ts";
import { DEFAULT_APP } from "../core/session.ts";

/** Counting the sessions of an App stops here. */
const COUNTED_TO = 10_000;

export interface AdminAppsOptions {
  readonly store: Pick<AdminStore, "apps">;
  readonly catalog: AppCatalog;
  readonly keys: Pick<KeyService, "list">;
  readonly tools: ToolSourceReports;
}

/** Returns the configured Apps in order, then removed Apps that still have sessions or keys. */
export async function listApps({ store, catalog, keys, tools }: AdminAppsOptions): Promise<AdminApp[]> {
  const [counted, listed] = await Promise.all([store.apps(COUNTED_TO), keys.list()]);
  const sessions = new Map(counted.map(({ app, sessions }) => [app, sessions]));
  const valid = listed.filter(({ status }) => status === "good");
  const configured = catalog.names();
  const others = new Set([...sessions.keys(), ...valid.flatMap(({ apps }) => apps)]);
  const removed = [...others].filter((name) => !configured.includes(name)).toSorted();
  return [...configured, ...removed].map((name) => {
    const app = catalog.get(name);
    return {
      name,
      description: app?.description ?? null,
      is_configured: app !== null,
      models: [...(app?.models ?? [])],
      utility_model: app?.utilityModel ?? null,
      // The setting of a removed App is unknown, and its sessions are closed.
      require_key: name === DEFAULT_APP ? "never" : (app?.requireKey ?? "all"),
      tool_sources: [...tools.sources(name)],
      good_keys: valid.filter(({ apps }) => apps.includes(name)).length,
      sessions: sessions.get(name) ?? 0,
      counted_to: COUNTED_TO,
    };
  });
}
