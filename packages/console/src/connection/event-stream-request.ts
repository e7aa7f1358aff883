const STREAM = /\/?api\/updates(?:\?|$)/;

/** Whether what is asked for is a stream of events. */
export function isEventStream(input: string | URL | Request): boolean {
  return STREAM.test(input instanceof Request ? input.url : input.toString());
}

/** The same answer, and a call when nothing of it comes any more, whoever has ended it. */
export function untilItsEnd(response: Response, onEnd: () => void): Response {
  const { body, status, statusText, headers } = response;
  const passed = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
  void (body === null ? Promise.resolve() : body.pipeTo(passed.writable))
    .catch(() => undefined)
    .finally(onEnd);
  return new Response(body === null ? null : passed.readable, { status, statusText, headers });
}
