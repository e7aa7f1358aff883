// A request that is not yet bytes. Everything in it goes out as it is, right or wrong.

export interface RequestParts {
  method: string;
  /** Path and query, as they stand in the request line. */
  path: string;
  query: [name: string, value: string][];
  version: string;
  headers: [name: string, value: string][];
  body: Buffer | null;
  /** Whether to add the `Content-Length` that fits. */
  measured: boolean;
}

/** The bytes of a request. Text is written as latin1, so a character is a byte; names and values of the query are not encoded. */
export function serialise(parts: RequestParts): Buffer {
  const query = parts.query.map(([name, value]) => (value === "" ? name : `${name}=${value}`)).join("&");
  const target = query === "" ? parts.path : `${parts.path}?${query}`;
  const headers = [...parts.headers];
  if (parts.body !== null && parts.measured) headers.push(["Content-Length", String(parts.body.length)]);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = Buffer.from(`${parts.method} ${target} ${parts.version}\r\n${lines}\r\n`, "latin1");
  return parts.body === null ? head : Buffer.concat([head, parts.body]);
}

/** Characters outside of ASCII as the bytes of their UTF-8, for places that `serialise` writes as latin1. */
export function asBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
