// Edges over Apps that require keys, for the tests of access.

import type { KeyScope } from "@colloquy/engine/internal/core/key-scopes";
import { type Edges, startEdges } from "./edge.ts";

export type KeyName = "to-defi" | "to-vault" | "to-both";

export interface AppEdges extends Edges {
  /** Returns the header with the key of this name; any other text is sent as it is. */
  sending(key: string): { readonly headers: { readonly "service-app-key": string } };
  /** Replaces a key by one with these scopes, or with all. */
  renew(name: KeyName, scopes?: readonly KeyScope[]): Promise<void>;
  /** Revokes the key until `renew`. */
  end(name: KeyName): Promise<void>;
}

const OPENED: Readonly<Record<KeyName, readonly string[]>> = {
  "to-defi": ["defi"],
  "to-vault": ["vault"],
  "to-both": ["defi", "vault"],
};

/**
 * Starts a service with the Apps `defi` (key `to-defi`), `vault` that requires its key for everything
 * (`to-vault`), and a key for both (`to-both`). All have the tool `look`, which a client runs, and the secret
 * slot ALCHEMY_KEY.
 */
export async function startAppEdges(): Promise<AppEdges> {
  const app = {
    tools: { client: { look: { description: "Looks where the user is", inputSchema: { type: "object" } } } },
    secrets: [{ name: "ALCHEMY_KEY", description: "Key of a provider", required: true }],
    suggestions: [],
  };
  const edges = await startEdges({
    apps: { default: app, defi: app, vault: { ...app, requireKey: "all" }, gone: app },
  });
  const keys = new Map<string, string>();
  for (const [name, apps] of Object.entries(OPENED)) keys.set(name, await edges.key(apps));
  return {
    ...edges,
    sending: (name) => ({ headers: { "service-app-key": keys.get(name) ?? name } }),
    async renew(name, scopes = []) {
      keys.set(name, await edges.key(OPENED[name], scopes));
    },
    end: (name) => edges.revoke(keys.get(name)!),
  };
}

/** Returns a valid body of an operation that needs one. */
export function bodyOf(method: string, url: string): object | undefined {
  if (method === "PATCH") return { title: "Renamed" };
  return url.startsWith("/api/actions/") ? { decision: "deny" } : undefined;
}
