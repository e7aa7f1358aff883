// The torture's own event stream parser (WHATWG HTML, "Interpreting an event stream"), so that a bug of the
// server's writer cannot hide behind the same bug in its client.

/** The fields up to one blank line. */
export interface StreamedEvent {
  /** The event's own `id:`; `null` if it has none, as for deltas. */
  readonly id: string | null;
  /** The `data:` lines, joined with line feeds; `null` if there are none, as in a bare `id:`. */
  readonly data: string | null;
  /** The `event:` field, `null` when absent. */
  readonly name: string | null;
}

/**
 * Parses a stream from chunks that may end anywhere, even within a line end. Calls `onEvent` for each block
 * with an `id:` or `data:`; comments and `retry:` are ignored.
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
