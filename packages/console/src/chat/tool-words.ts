/** A duration in milliseconds, as short as it can be said. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** What a tool told of itself, whatever it is: the words in it, how far it is, else all of it. */
export function progressText(progress: unknown): string {
  if (typeof progress === "string") return progress;
  if (typeof progress !== "object" || progress === null) return String(progress);
  const { message, progress: done, total } = progress as Readonly<Record<string, unknown>>;
  const far =
    typeof done === "number" ? (typeof total === "number" ? `${done} of ${total}` : String(done)) : null;
  const words = typeof message === "string" ? message : null;
  const told = [words, far].filter((part) => part !== null);
  return told.length > 0 ? told.join(" · ") : JSON.stringify(progress);
}
