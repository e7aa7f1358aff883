/** A JSON syntax error; line and column count from 1. The message never quotes the text, which may contain a key. */
export interface JsonError {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Locates the error that `JSON.parse` threw for `text`. */
export function locateJsonError(text: string, error: unknown): JsonError {
  const description = error instanceof Error ? error.message : String(error);
  const position = positionOf(text, description);
  const before = text.slice(0, position).split("\n");
  return {
    line: before.length,
    column: (before.at(-1) ?? "").length + 1,
    message: description
      .replace(/, (?:\.\.\.)?"[\s\S]*$/, "")
      .replace(/(?: in JSON)?(?: at position \d+[\s\S]*)?$/, "")
      .replace("JSON input", "the file")
      .replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1)),
  };
}

function positionOf(text: string, description: string): number {
  const named = /at position (\d+)/.exec(description)?.[1];
  if (named !== undefined) return Number(named);
  if (description.startsWith("Unexpected end")) return text.length;
  // V8 reports no position for an unexpected token, so bisect: a prefix that ends before the token fails with an
  // unexpected end instead.
  let [valid, invalid] = [0, text.length];
  while (invalid - valid > 1) {
    const middle = Math.floor((valid + invalid) / 2);
    if (hasUnexpectedToken(text.slice(0, middle))) invalid = middle;
    else valid = middle;
  }
  return valid;
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return error instanceof Error && error.message.startsWith("Unexpected token");
  }
}
