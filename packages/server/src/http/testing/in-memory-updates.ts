// Event streams whose content a test writes.

import type {
  NewSessionOptions,
  OpenStream,
  StreamRequest,
  StreamSink,
} from "../../core/ports/driving/services.ts";

export class InMemoryUpdates {
  /** Streams in the order in which they were opened. */
  readonly opened: { readonly request: StreamRequest; readonly sink: StreamSink; closed: number }[] = [];
  /** `open` waits for this promise. */
  gate: Promise<void> = Promise.resolve();
  /** Error of `open`, if set. */
  failure: Error | null = null;
  /** Text written while the stream is being opened. */
  first: string | null = "retry: 2000\n\n";

  async open(request: StreamRequest, sink: StreamSink, creation: NewSessionOptions): Promise<OpenStream> {
    await this.gate;
    if (this.failure !== null) throw this.failure;
    await creation?.admit?.();
    const stream = { request, sink, closed: 0 };
    this.opened.push(stream);
    if (this.first !== null) sink.write(Buffer.from(this.first));
    return {
      close: () => {
        stream.closed += 1;
      },
    };
  }
}
