// Reads a stream of server-sent events (WHATWG HTML, "Interpreting an event stream") from bytes that may be cut anywhere: within a line
// end, within a character.

/** What a blank line ended. */
export interface Frame {
  /** The frame's own `id:`, `null` when it has none. */
  readonly id: string | null;
  /** Its `data:` lines, joined with line feeds; `null` when it has none, as in a bare `id:`. */
  readonly data: string | null;
  /** Milliseconds after which a client that lost the stream should come back; `null` when the frame does not say. */
  readonly retry: number | null;
}

const EMPTY: Frame = { id: null, data: null, retry: null };

/** Takes the bytes as they come and calls `onFrame` for each frame that says anything. A frame that is cut off by the end is none. */
export function createEventStreamParser(onFrame: (frame: Frame) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let frame = EMPTY;
  /** The line that has not ended yet. */
  let begun = "";
  /** A line feed that comes next belongs to the carriage return that was last. */
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
      const line = begun + text.slice(start, end.index);
      begun = "";
      start = end.index + end[0].length;
      endLine(line);
    }
    begun += text.slice(start);
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
