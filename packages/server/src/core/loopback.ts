/**
 * Whether a host name or address (no port, no brackets) means this machine alone (RFC 6761 section 6.3; RFC 1122 section
 * 3.2.1.3). Who may reach the service, and from which pages, is decided by it.
 */
export function isLoopbackName(name: string): boolean {
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "::1" ||
    /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(name)
  );
}

/**
 * Whether others than those at this machine may come: the service is bound beyond loopback, or a proxy stands before it. Then rate limits
 * hold, what only this machine may do is closed, and each client is told apart by its address (contract section 6).
 */
export function isPublic(bind: {
  readonly loopback: boolean;
  readonly trustedProxies: readonly string[];
}): boolean {
  return !bind.loopback || bind.trustedProxies.length > 0;
}
