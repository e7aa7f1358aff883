// An edge with Apps that require keys, for the tests of access.

import type { LightMyRequestResponse } from "fastify";
import { expect } from "vitest";
import { SESSION, testEdge, type TestEdge } from "./edge.ts";
import { expectProblem } from "./expect-problem.ts";
import { ANONYMOUS } from "../../core/session-access.ts";

/**
 * Creates an edge with the Apps `defi` (key `to-defi`), `vault` that requires its key for everything
 * (`to-vault`), and a key for both.
 */
export function edgeWithApps(): TestEdge {
  const edge = testEdge();
  edge.services.apps.requireKey.set("defi", "chat").set("vault", "all");
  edge.services.keys.grants
    .set("to-defi", ["defi"])
    .set("to-vault", ["vault"])
    .set("to-both", ["defi", "vault"]);
  return edge;
}

/** Binds SESSION to the App. */
export async function givenSession(edge: TestEdge, app: string | null): Promise<void> {
  await edge.services.conversations.ensure(SESSION, ANONYMOUS, null);
  edge.services.conversations.sessions.get(SESSION)!.app = app;
}

export const key = (text: string) => ({ headers: { "service-app-key": text } });

export const expectUnauthorized = (answer: LightMyRequestResponse): void => {
  expectProblem(answer, 401, "app_key_invalid");
  expect(answer.headers["www-authenticate"]).toBe('ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"');
};

/** Returns a valid body of an operation that needs one. */
export function bodyOf(method: string, url: string): object | undefined {
  if (method === "PATCH") return { title: "Renamed" };
  return url.startsWith("/api/actions/") ? { decision: "deny" } : undefined;
}
