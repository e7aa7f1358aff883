// Parses server-sent events (WHATWG HTML, "Interpreting an event stream") from chunks that may be cut
// anywhere: within a line end, within a character.

/** The fields up to one blank line. */
export interface Frame {
  /** The frame's own `id:`; `null` if it has none. */
  readonly id: string | null;
  /** Its `data:` lines, joined with line feeds; `null` if it has none, as in a bare `id:`. */
  readonly data: string | null;
  /** Milliseconds to wait before reconnecting; `null` if the frame does not say. */
  readonly retry: number | null;
}

const EMPTY: Frame = { id: null, data: null, retry: null };

/**
 * Returns a function that takes the bytes and calls `onFrame` for each frame with any field. An incomplete
 * frame at the end is dropped.
 */
export function createEventStreamParser(onFrame: (frame: Frame) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let frame = EMPTY;
  /** The current, incomplete line. */
  let partialLine = "";
  /** The last character was a carriage return: a line feed that follows belongs to it. */
  let afterReturn = false;

  const endLine = (line: string): void => {
    if (line !== "") {
      frame = withField(frame, line);
      return;
    }
    const ended = frame;
    frame = EMPTY;
    if (ended !== EMPTY) onFrame(ended);
  };

  return (bytes) => {
    const decoded = decoder.decode(bytes, { stream: true });
    if (decoded === "") return;
    const text = afterReturn && decoded.startsWith("\n") ? decoded.slice(1) : decoded;
    let start = 0;
    for (const end of text.matchAll(/\r\n?|\n/g)) {
      const line = partialLine + text.slice(start, end.index);
      partialLine = "";
      start = end.index + end[0].length;
      endLine(line);
    }
    partialLine += text.slice(start);
    afterReturn = text.endsWith("\r");
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
