/** Returns true if a host name or address without port is a loopback one (RFC 6761 section 6.3; RFC 1122 section 3.2.1.3). */
export function isLoopbackName(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1");
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "::1" ||
    /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(name)
  );
}

/** Returns true if a host is another machine. A path is a local socket, and an empty host is this machine too. */
export function isRemoteHost(host: string): boolean {
  return host !== "" && !host.startsWith("/") && !isLoopbackName(host.toLowerCase());
}

/** Returns true for an https URL, and for an http URL of this machine. */
export function isEncryptedOrLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopbackName(hostname));
}

/**
 * Returns true if the service is public: bound beyond loopback, or behind a trusted proxy. A public service
 * enforces rate limits and refuses operations reserved for local clients (contract section 6).
 */
export function isPublic(bind: {
  readonly loopback: boolean;
  readonly trustedProxies: readonly string[];
}): boolean {
  return !bind.loopback || bind.trustedProxies.length > 0;
}
