import { text } from "node:stream/consumers";
import { CommandFailure } from "../command.ts";

/** Above the service's limit; stops reading a large file that was piped in by mistake. Bytes. */
const MAX_BYTES = 1_000_000;

/** Reads all piped input and removes a trailing line end. */
export async function readPiped(input: NodeJS.ReadableStream): Promise<string> {
  let length = 0;
  async function* limited(): AsyncGenerator<Buffer> {
    for await (const chunk of input) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length > MAX_BYTES)
        throw new CommandFailure("Colloquy: The piped input is longer than a message may be. Shorten it.");
      yield bytes;
    }
  }
  return (await text(limited())).replace(/\r?\n$/, "");
}
