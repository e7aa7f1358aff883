import { Readable } from "node:stream";

/**
 * A JSON array of all that the portions hold. The next portion is read when the client has taken the one before, so that an
 * answer of any length holds a few portions in memory.
 */
export function jsonArray(portions: AsyncIterable<readonly unknown[]>): Readable {
  return Readable.from(textOf(portions), { highWaterMark: 1 });
}

/** In place of an array for HEAD: a stream, because an answer that is streamed has no `Content-Length`. */
export function emptyStream(): Readable {
  return Readable.from([]);
}

async function* textOf(portions: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
  let before = "[";
  for await (const portion of portions) {
    if (portion.length === 0) continue;
    yield before + portion.map((one) => JSON.stringify(one)).join();
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}
