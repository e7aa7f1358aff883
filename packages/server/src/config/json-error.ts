/** Where a JSON text is broken (both from 1), and why, without quoting the text: it may hold a key. */
export interface JsonError {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The place of the error that `JSON.parse` threw about `text`. */
export function locateJsonError(text: string, error: unknown): JsonError {
  const said = error instanceof Error ? error.message : String(error);
  const position = positionOf(text, said);
  const before = text.slice(0, position).split("\n");
  return {
    line: before.length,
    column: (before.at(-1) ?? "").length + 1,
    message: said
      .replace(/, (?:\.\.\.)?"[\s\S]*$/, "")
      .replace(/(?: in JSON)?(?: at position \d+[\s\S]*)?$/, "")
      .replace("JSON input", "the file")
      .replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1)),
  };
}

function positionOf(text: string, said: string): number {
  const named = /at position (\d+)/.exec(said)?.[1];
  if (named !== undefined) return Number(named);
  if (said.startsWith("Unexpected end")) return text.length;
  // V8 gives no position for an unexpected token. A text cut before it lacks an end; cut after it, it has the token.
  let [sound, broken] = [0, text.length];
  while (broken - sound > 1) {
    const middle = Math.floor((sound + broken) / 2);
    if (hasUnexpectedToken(text.slice(0, middle))) broken = middle;
    else sound = middle;
  }
  return sound;
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return error instanceof Error && error.message.startsWith("Unexpected token");
  }
}
