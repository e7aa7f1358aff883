/** Where a server that listens there is reached from the same machine. */
export function localAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = everywhere[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `http://${name}:${port}`;
}
