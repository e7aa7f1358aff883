const STREAM = /\/?api\/updates(?:\?|$)/;

/** Whether what is asked for is a stream of events. */
export function isEventStream(input: string | URL | Request): boolean {
  return STREAM.test(input instanceof Request ? input.url : input.toString());
}
