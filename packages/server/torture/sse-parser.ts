// The torture's own reading of an event stream (WHATWG HTML, "Interpreting an event stream"), so that a mistake of the
// server's writer cannot be hidden by the same mistake in its client.

/** What a blank line ended. */
export interface StreamedEvent {
  /** The `id:` of the block itself; `null` when it has none, as live events do. */
  readonly id: string | null;
  /** The `data:` lines, joined with line feeds; `null` when there was none, as in a bare `id:`. */
  readonly data: string | null;
  /** The `event:` field, `null` when absent. */
  readonly name: string | null;
}

/**
 * Reads a stream piece by piece: pieces may end anywhere, in the middle of a line end too. `onEvent` is called for each block
 * that had an `id:` or a `data:`; comments and `retry:` are left out.
 */
export function createSseParser(onEvent: (event: StreamedEvent) => void): (text: string) => void {
  let rest = "";
  let id: string | null = null;
  let data: string[] | null = null;
  let name: string | null = null;
  let touched = false;

  const readLine = (line: string) => {
    if (line === "") {
      if (touched) onEvent({ id, data: data?.join("\n") ?? null, name });
      [id, data, name, touched] = [null, null, null, false];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") [id, touched] = [value, true];
    else if (field === "data") [data, touched] = [[...(data ?? []), value], true];
    else if (field === "event") name = value;
  };

  return (text) => {
    rest += text;
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(rest);
      if (end === null) return;
      const line = rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
      readLine(line);
    }
  };
}
