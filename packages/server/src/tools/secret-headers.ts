// Substitutes `{{secret.NAME}}` in the headers that an operator configures for requests to a server.

import type { ToolScope } from "./tool-source.ts";

type Headers = Readonly<Record<string, string>>;

const PLACE = /\{\{\s*secret\.([^{}\s]+)\s*\}\}/g;

/** Returns the names of the secrets that the headers need, without duplicates. */
export function secretsIn(headers: Headers): readonly string[] {
  const names = Object.values(headers).flatMap((value) => [...value.matchAll(PLACE)].map(([, name]) => name));
  return [...new Set(names)].filter((name) => name !== undefined);
}

/**
 * Returns the headers with the secrets of the turn's client filled in.
 *
 * @throws SecretMissing for a secret that is not set; Error for a value that a header cannot hold.
 */
export function fillSecrets(headers: Headers, scope: Pick<ToolScope, "secret">): Headers {
  const filled = Object.entries(headers).map(([header, value]) => {
    const text = value.replaceAll(PLACE, (_place, name: string) => readSecret(name, scope));
    return [header, text] as const;
  });
  return Object.fromEntries(filled);
}

function readSecret(name: string, scope: Pick<ToolScope, "secret">): string {
  const value = scope.secret(name).trim();
  // Such a value could start another header, or make the request fail with an error that quotes it.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw new Error(
      `The secret "${name}" has characters that cannot be sent. Tell the user to set it again.`,
    );
  }
  return value;
}
