// Reads answers from the bytes of a connection (RFC 9112), as strictly as the server should write them.

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; values of repeated names are joined with ", ". */
  readonly headers: ReadonlyMap<string, string>;
  /** Body of the response; empty for a stream. */
  readonly body: Buffer;
  /** True for an event stream, which has no end. */
  readonly streams: boolean;
}

export interface ReadResult {
  /** Final answers, in order, without interim ones (1xx). */
  readonly answers: readonly RawAnswer[];
  /** Bytes after the last complete answer. */
  readonly rest: Buffer;
}

interface Head {
  readonly status: number;
  readonly headers: Map<string, string>;
  /** Offset of the body. */
  readonly end: number;
}

/**
 * Returns all complete answers in `bytes`. `bodiless`: index of the answer to a HEAD, -1 for none. `ended`: no more bytes
 * follow, which ends a body without a length. Throws if the bytes are not HTTP.
 */
export function readAnswers(bytes: Buffer, bodiless: number, ended: boolean): ReadResult {
  const answers: RawAnswer[] = [];
  let at = 0;
  for (;;) {
    const head = readHead(bytes, at);
    if (head === null) break;
    if (head.status < 200 && head.status !== 101) {
      at = head.end;
      continue;
    }
    const streams = head.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const withoutBody = answers.length === bodiless || head.status === 204 || head.status === 304 || streams;
    const body = withoutBody ? { body: Buffer.alloc(0), end: head.end } : readBody(bytes, head, ended);
    if (body === null) break;
    answers.push({ status: head.status, headers: head.headers, body: body.body, streams });
    at = body.end;
    if (streams) return { answers, rest: Buffer.alloc(0) };
  }
  return { answers, rest: bytes.subarray(at) };
}

function readHead(bytes: Buffer, at: number): Head | null {
  const end = bytes.indexOf("\r\n\r\n", at);
  if (end < 0) return null;
  const [first = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) throw new Error(`Not a status line: ${JSON.stringify(first.slice(0, 100))}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/s.exec(line);
    if (field?.[1] === undefined || field[2] === undefined)
      throw new Error(`Not a header: ${JSON.stringify(line)}`);
    const name = field[1].toLowerCase();
    const before = headers.get(name);
    headers.set(name, before === undefined ? field[2] : `${before}, ${field[2]}`);
  }
  return { status: Number(status), headers, end: end + 4 };
}

function readBody(bytes: Buffer, head: Head, ended: boolean): { body: Buffer; end: number } | null {
  const length = head.headers.get("content-length");
  if (head.headers.get("transfer-encoding") === "chunked") return readChunks(bytes, head.end);
  if (length !== undefined) {
    if (!/^\d+$/.test(length)) throw new Error(`Not a length: ${length}`);
    const end = head.end + Number(length);
    return bytes.length < end ? null : { body: bytes.subarray(head.end, end), end };
  }
  return ended ? { body: bytes.subarray(head.end), end: bytes.length } : null;
}

function readChunks(bytes: Buffer, from: number): { body: Buffer; end: number } | null {
  const parts: Buffer[] = [];
  let at = from;
  for (;;) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return null;
    const text = bytes.toString("latin1", at, line);
    if (!/^[0-9a-fA-F]+$/.test(text))
      throw new Error(`Not a chunk size: ${JSON.stringify(text.slice(0, 40))}`);
    const size = Number.parseInt(text, 16);
    const end = line + 2 + size;
    if (bytes.length < end + 2) return null;
    if (bytes.toString("latin1", end, end + 2) !== "\r\n") throw new Error("A chunk is longer than its size");
    if (size === 0) return { body: Buffer.concat(parts), end: end + 2 };
    parts.push(bytes.subarray(line + 2, end));
    at = end + 2;
  }
}
