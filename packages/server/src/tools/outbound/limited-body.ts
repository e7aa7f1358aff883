/** Limits and callbacks for reading a response body. */
export interface BodyRules {
  readonly maxBytes: number;
  /** Returns the error for the reader of a body that is too large. */
  tooLarge(): Error;
  /** Returns the error for the reader of a body that breaks off. */
  broken(error: unknown): Error;
  /** Called once, when the body is read, has failed or is cancelled. */
  onEnd(): void;
}

/**
 * Returns a body that errors as soon as it exceeds its limit. It counts decompressed bytes and pulls only on
 * demand, so a compression bomb cannot fill the memory.
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
        // Close the connection; its error no longer matters.
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
