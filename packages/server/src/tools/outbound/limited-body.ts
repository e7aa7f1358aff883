/** What is done around the reading of an answer's body. */
export interface BodyRules {
  readonly maxBytes: number;
  /** What the reader gets when the body is longer. */
  tooLarge(): Error;
  /** What the reader gets when the body breaks off. */
  broken(error: unknown): Error;
  /** The body is read, broken off or no longer wanted. Called once. */
  onEnd(): void;
}

/**
 * A body that ends with an error as soon as it is longer than allowed. It counts what its reader gets, decompressed, and pulls no more
 * than is read: a few bytes on the wire cannot become gigabytes here.
 */
export function limitBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  rules: BodyRules,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  let received = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            rules.onEnd();
            controller.close();
            return;
          }
          received += value.byteLength;
          if (received <= rules.maxBytes) {
            controller.enqueue(value);
            return;
          }
        } catch (error) {
          rules.onEnd();
          controller.error(rules.broken(error));
          return;
        }
        rules.onEnd();
        controller.error(rules.tooLarge());
        // Ends the connection; that it was going to fail interests nobody any more.
        reader.cancel().catch(() => undefined);
      },
      cancel(reason) {
        rules.onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
