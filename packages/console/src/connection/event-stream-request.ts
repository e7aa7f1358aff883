const STREAM = /\/?api\/updates(?:\?|$)/;

/** Returns true for requests of event streams. */
export function isEventStream(input: string | URL | Request): boolean {
  return STREAM.test(input instanceof Request ? input.url : input.toString());
}

/** Returns the same response, and calls `onEnd` when its body ends or is cancelled. */
export function untilItsEnd(response: Response, onEnd: () => void): Response {
  const { body, status, statusText, headers } = response;
  const passed = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
  void (body === null ? Promise.resolve() : body.pipeTo(passed.writable))
    .catch(() => undefined)
    .finally(onEnd);
  return new Response(body === null ? null : passed.readable, { status, statusText, headers });
}
