// An incremental parser for server-sent events (WHATWG HTML, "Interpreting an event stream"). A chunk may end
// anywhere, even inside a line break or a UTF-8 character.

/** One event: the fields up to a blank line. */
export interface Frame {
  /** Value of `id:`; `null` if absent. Unlike the browser's `lastEventId`, not inherited from earlier frames. */
  readonly id: string | null;
  /** The `data:` lines, joined with line feeds; `null` if there are none. */
  readonly data: string | null;
  /** Value of `retry:`, the reconnection delay in milliseconds; `null` if absent. */
  readonly retry: number | null;
}

const EMPTY: Frame = { id: null, data: null, retry: null };

/**
 * Returns a function that takes the next bytes and calls `onFrame` for each complete frame with at least one
 * field. A frame without its blank line is never reported.
 */
export function createEventStreamParser(onFrame: (frame: Frame) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let frame = EMPTY;
  let partialLine = "";
  /** The previous chunk ended in a carriage return; a leading line feed completes that line break. */
  let endedInReturn = false;

  const processLine = (line: string): void => {
    if (line !== "") {
      frame = withField(frame, line);
      return;
    }
    const complete = frame;
    frame = EMPTY;
    if (complete !== EMPTY) onFrame(complete);
  };

  return (bytes) => {
    const decoded = decoder.decode(bytes, { stream: true });
    if (decoded === "") return;
    const text = endedInReturn && decoded.startsWith("\n") ? decoded.slice(1) : decoded;
    let start = 0;
    for (const end of text.matchAll(/\r\n?|\n/g)) {
      const line = partialLine + text.slice(start, end.index);
      partialLine = "";
      start = end.index + end[0].length;
      processLine(line);
    }
    partialLine += text.slice(start);
    endedInReturn = text.endsWith("\r");
  };
}

function withField(frame: Frame, line: string): Frame {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
  if (name === "data") return { ...frame, data: frame.data === null ? value : `${frame.data}\n${value}` };
  if (name === "id" && !value.includes("\0")) return { ...frame, id: value };
  if (name === "retry" && /^\d+$/.test(value)) return { ...frame, retry: Number(value) };
  return frame;
}
