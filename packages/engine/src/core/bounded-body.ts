// Limits of what other servers send. `fetch` decompresses, so the size on the wire says nothing: 1 MB of gzip may
// hold 1 GB. The decoded bytes are counted while they are read, in pieces of at most 64 KiB.

type Bytes = Uint8Array<ArrayBuffer>;
type HeadersOf = ConstructorParameters<typeof Headers>[0];
type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** The parts of a response that its body depends on. */
interface Received {
  readonly body: ReadableStream<Bytes> | null;
  readonly headers: Pick<Headers, "get">;
}

export interface BodyBound {
  /** Maximum size in decompressed bytes. */
  readonly maxBytes: number;
  /** Creates the error of a larger body. */
  readonly tooLarge: () => Error;
  /** Maps an error of the body itself. */
  readonly failed?: (error: unknown) => unknown;
  /** Called once the body has been read, has failed or is cancelled. */
  readonly ended?: () => void;
}

/** Encodings to request. `fetch` asks for `deflate` too, which it decompresses without waiting for the reader. */
const ACCEPTED_ENCODINGS = "gzip, br";
const READABLE_ENCODINGS: readonly string[] = ["", "identity", "gzip", "x-gzip", "br"];

/** The server compressed its response in a way that was not requested. */
export class EncodingRefused extends Error {
  constructor(encoding: string) {
    super(`The response is compressed with "${encoding}". Let the server use gzip, br or none.`);
    this.name = "EncodingRefused";
  }
}

/**
 * Returns the body of a response, or `null` if it has none. It errors as soon as it exceeds the limit, and then
 * closes its connection. An encoding that was not requested is such an error too.
 */
export function boundBody({ body, headers }: Received, bound: BodyBound): ReadableStream<Bytes> | null {
  const { maxBytes, tooLarge, failed = (error) => error, ended = () => undefined } = bound;
  if (body === null) {
    ended();
    return null;
  }
  const reader = body.getReader();
  const end = (): void => {
    ended();
    // Closes the connection; its error no longer matters.
    reader.cancel().catch(() => undefined);
  };
  const encoding = headers.get("content-encoding")?.toLowerCase() ?? "";
  const isReadable = encoding.split(",").every((one) => READABLE_ENCODINGS.includes(one.trim()));
  // At once, because the decompression does not wait for a reader.
  if (!isReadable) end();
  let received = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        if (!isReadable) throw failed(new EncodingRefused(encoding));
        const next = await reader.read().catch((error: unknown) => {
          ended();
          throw failed(error);
        });
        if (next.done) {
          ended();
          controller.close();
          return;
        }
        received += next.value.byteLength;
        if (received > maxBytes) {
          end();
          throw tooLarge();
        }
        controller.enqueue(next.value);
      },
      cancel(reason) {
        ended();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns a `fetch` whose responses have bounded bodies. */
export function boundResponses(fetch: Fetch, boundOf: (response: Response) => BodyBound): Fetch {
  return async (url, init) => {
    const response = await fetch(url, { ...init, headers: acceptEncodings(init?.headers) });
    return withBody(response, boundBody(response, boundOf(response)));
  };
}

/** Returns request headers that ask for the encodings that `boundBody` reads. */
export function acceptEncodings(sent: HeadersOf): Headers {
  const headers = new Headers(sent);
  headers.set("accept-encoding", ACCEPTED_ENCODINGS);
  return headers;
}

/** Returns the response with another, decoded body. */
export function withBody(response: Response, body: ReadableStream<Bytes> | null): Response {
  if (response.body === null) return response;
  const { status, statusText, url } = response;
  const changed = new Response(body, { status, statusText, headers: decodedHeaders(response.headers) });
  // `Response` has no URL of its own; callers check redirects against it.
  Object.defineProperty(changed, "url", { value: url });
  return changed;
}

/** Returns the headers without those of the encoded body. */
export function decodedHeaders(received: HeadersOf): Headers {
  const headers = new Headers(received);
  headers.delete("content-encoding");
  headers.delete("content-length");
  return headers;
}
