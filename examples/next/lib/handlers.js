// Error responses of this server, and the check against cross-site request forgery.

/** Returns an error. Its `code` tells the page that the error is not a proxy's, and must not be retried. */
export function refuse(status, code, detail) {
  return Response.json({ code, detail }, { status });
}

/** Maximum size of a body in bytes: it is kept in memory. */
const BODY_MAX_BYTES = 256 * 1024;

/** Returns the body; `null` if it is too large. */
async function textOf(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > BODY_MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Passes the body on as JSON, or `undefined` without one. Rejects changes that pages of other sites request: browsers
 * send the origin with each request that changes something.
 */
export function fromOwnPage(handle) {
  return async (request) => {
    const origin = request.headers.get("origin");
    const isForeign = origin !== null && URL.parse(origin)?.host !== request.headers.get("host");
    if (request.method !== "GET" && isForeign) {
      return refuse(403, "origin_not_allowed", "Send this request from this site's own pages.");
    }
    const text = await textOf(request);
    if (text === null) return refuse(413, "body_too_large", "The body has more than 256 KiB.");
    let body;
    try {
      body = text === "" ? undefined : JSON.parse(text);
    } catch {
      return refuse(400, "request_invalid", "The body is not JSON.");
    }
    return await handle(request, body);
  };
}
