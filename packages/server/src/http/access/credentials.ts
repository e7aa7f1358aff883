// Reads the credentials of a request, without checking them.

import type { IncomingMessage } from "node:http";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { UserGrant } from "@colloquy/engine/internal/core/ports/driving/credentials";
import { appKey, textHeader } from "../request.ts";

/** The user of a request: a grant, or the 401 of an invalid token. */
export type RequestUser = Omit<UserGrant, "expiresAt"> | ServiceError;

export interface SentCredentials {
  /** App key; `null` for none. */
  readonly key: string | null;
  /** Bearer token of a user (RFC 6750 section 2.1); `null` for none, or if no App has users. */
  readonly token: string | null;
  /** The bearer as sent, of any kind; absent or `null` for none. */
  readonly bearer?: string | null;
  /** Header that names the user on whose behalf the key acts. */
  readonly owner: string | null;
}

/** Prefix of App keys. */
export const KEY_PREFIX = "clq_";
const OWNER_HEADER = "colloquy-owner";

/** `keyHeader` as in `AppAccess`; `hasUsers` is false if no App takes tokens. */
export function credentialsOf(
  message: IncomingMessage,
  { keyHeader, hasUsers }: { readonly keyHeader?: string | undefined; readonly hasUsers: boolean },
): SentCredentials {
  const bearer = bearerOf(message);
  const isKey = keyHeader === "authorization" && bearer?.startsWith(KEY_PREFIX) === true;
  const other = keyHeader === undefined ? null : isKey ? bearer : textHeader(message, keyHeader);
  return {
    key:
      appKey(message) ??
      (keyHeader === "authorization" && !isKey ? null : other || null) ??
      aliasedKey(message),
    token: hasUsers && !isKey ? bearer : null,
    bearer,
    owner: textHeader(message, OWNER_HEADER) || null,
  };
}

/** Names of the key header in clients of the original. */
const KEY_ALIASES = ["x-api-key", "aomi-app-key"];
const WHOLE_KEY = new RegExp(`^${KEY_PREFIX}[\\w-]+$`);

/** Returns the key in a header with another name. Gateways use them too, so that other values are ignored. */
function aliasedKey(message: IncomingMessage): string | null {
  for (const name of KEY_ALIASES) {
    const sent = textHeader(message, name);
    if (sent !== null && WHOLE_KEY.test(sent)) return sent;
  }
  return null;
}

function bearerOf({ headers: { authorization } }: IncomingMessage): string | null {
  if (authorization === undefined) return null;
  return /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trimEnd() ?? null;
}

/**
 * Returns true if the user's token grants access to the App without a key. Wallet sign-ins do not, because
 * anyone can sign in; neither do users named by a key, because the key itself is checked.
 */
export function opens(user: RequestUser | null, app: unknown): boolean {
  return user !== null && !(user instanceof ServiceError) && user.opens.some((name) => name === app);
}

/** Returns true if the App accepts the user. */
export function accepts(user: RequestUser | null, app: unknown): boolean {
  return user !== null && !(user instanceof ServiceError) && user.apps.some((name) => name === app);
}
