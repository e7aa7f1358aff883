// A request before serialisation. Every part is sent as it is, valid or not.

export interface RequestParts {
  method: string;
  /** Path and query, as in the request line. */
  path: string;
  query: [name: string, value: string][];
  version: string;
  headers: [name: string, value: string][];
  body: Buffer | null;
  /** Whether to add a matching `Content-Length`. */
  measured: boolean;
}

/**
 * Returns the bytes of a request. Text is written as latin1, one byte per character; the query is not
 * encoded.
 */
export function serialise(parts: RequestParts): Buffer {
  const query = parts.query.map(([name, value]) => (value === "" ? name : `${name}=${value}`)).join("&");
  const target = query === "" ? parts.path : `${parts.path}?${query}`;
  const headers = [...parts.headers];
  if (parts.body !== null && parts.measured) headers.push(["Content-Length", String(parts.body.length)]);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = Buffer.from(`${parts.method} ${target} ${parts.version}\r\n${lines}\r\n`, "latin1");
  return parts.body === null ? head : Buffer.concat([head, parts.body]);
}

/**
 * Converts characters outside ASCII to their UTF-8 bytes, one character each, for parts that `serialise`
 * writes as latin1.
 */
export function asBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
