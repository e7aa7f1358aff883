import { text } from "node:stream/consumers";
import { CommandFailure } from "../command.ts";

/** More than the service takes; a file that was piped in by mistake is not read to its end. */
const LONGEST = 1_000_000;

/** All that is piped in, without the line end behind it. */
export async function readPiped(input: NodeJS.ReadableStream): Promise<string> {
  let length = 0;
  async function* limited(): AsyncGenerator<Buffer> {
    for await (const chunk of input) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length > LONGEST)
        throw new CommandFailure("Colloquy: What is piped in is longer than a message may be.");
      yield bytes;
    }
  }
  return (await text(limited())).replace(/\r?\n$/, "");
}
