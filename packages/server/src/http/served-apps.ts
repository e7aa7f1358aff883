// The Apps that a protocol serves, and the credentials that its routes accept.

import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import { NotFound, type ServiceError } from "@colloquy/engine/internal/core/errors";
import { z } from "zod";
import type { AppAccess } from "./access/route-access.ts";
import type { ProtocolContext, ProtocolConversation } from "./protocol.ts";

/** Returns the schema of the setting `apps`. `subject` is the name of the protocol in its description. */
export function servedAppsField(subject: string) {
  return z
    .array(z.string().min(1))
    .optional()
    .describe(
      `Apps that ${subject} serves. Defaults to \`default\` if the server listens only on loopback, and to none otherwise.`,
    );
}

/** Returns a function that creates the 404 for Apps that a protocol does not serve. `subject` is as above. */
export function appNotServed(subject: string, protocol: string): (app: string) => NotFound {
  return (app) =>
    new NotFound(
      "app_not_served",
      `${subject} does not serve this App. "protocols": { ${JSON.stringify(protocol)}: { "apps": [${JSON.stringify(app)}] } } in the configuration file adds it.`,
    );
}

/** Access of a route that sends messages. */
export const CHAT_ACCESS = {
  session: "body",
  app: "body",
  scope: "chat",
  creates: true,
  needsKey: true,
  counted: "caller",
} as const satisfies AppAccess;

export class ServedApps {
  readonly names: ReadonlySet<string>;
  /**
   * Part of a route's access: App keys and user tokens as `Authorization: Bearer`. Clients of other protocols require some
   * key. On loopback, one that is not valid is ignored; elsewhere, it gets 401.
   */
  readonly credentials: Pick<AppAccess, "keyHeader" | "bearer">;
  readonly #refusal: (app: string) => ServiceError;

  /** `refusal` returns the error for an App that is not served. */
  constructor(
    apps: readonly string[] | undefined,
    { isLoopback }: Pick<ProtocolContext, "isLoopback">,
    refusal: (app: string) => ServiceError,
  ) {
    this.names = new Set(apps ?? (isLoopback ? [DEFAULT_APP] : []));
    this.credentials = { keyHeader: "authorization", ...(!isLoopback && { bearer: "known" }) };
    this.#refusal = refusal;
  }

  /** Returns the configuration of a route that also accepts keys and tokens as `Authorization: Bearer`. */
  accessOf(access: AppAccess): { readonly access: AppAccess } {
    return { access: { ...this.credentials, ...access } };
  }

  /** Throws the refusal if the App is not served. */
  assert(app: string): void {
    if (!this.names.has(app)) throw this.#refusal(app);
  }

  /** Throws the refusal if the conversation belongs to an App that is not served. It belongs to none before its first message. */
  async assertOf(conversation: Pick<ProtocolConversation, "position">): Promise<void> {
    const app = (await conversation.position())?.boundApp ?? null;
    if (app !== null) this.assert(app);
  }
}
