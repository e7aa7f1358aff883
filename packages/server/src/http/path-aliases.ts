// Paths of later clients of the original for operations of the native API (docs/protocols/aomi.md).

/** Alias, and the path in its place. The rest of a request target stays. */
const ALIASES: readonly (readonly [alias: RegExp, path: string])[] = [
  [/^\/api\/(?:session|thread)\/(?=(?:apps|models?)(?:\?|$))/, "/api/control/"],
  [/^\/api\/thread\/(?=(?:chat|state|interrupt|updates)(?:\?|$))/, "/api/"],
  [/^\/api\/threads(?=[/?]|$)/, "/api/sessions"],
];

/** Returns the request target with the native path. */
export function canonicalPath(target: string): string {
  // Nearly no request has one of them.
  if (!target.startsWith("/api/session/") && !target.startsWith("/api/thread")) return target;
  for (const [alias, path] of ALIASES) {
    if (alias.test(target)) return target.replace(alias, path);
  }
  return target;
}
