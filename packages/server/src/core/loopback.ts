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
