const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats milliseconds with suitable precision: "0.4 ms", "820 ms", "1.2 s", "3 min 5 s", "2 h 10 min", "4 d 3
 * h".
 */
export function durationText(ms: number): string {
  if (ms < 0) return `−${durationText(-ms)}`;
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${Math.round(ms / 100) / 10} s`;
  if (Math.round(ms / SECOND) < 60) return `${Math.round(ms / SECOND)} s`;
  if (ms < MINUTE) return "1 min";
  if (ms < HOUR) return pair(ms, MINUTE, "min", SECOND, "s");
  return ms < DAY ? pair(ms, HOUR, "h", MINUTE, "min") : pair(ms, DAY, "d", HOUR, "h");
}

function pair(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeUnit}${rest === 0 ? "" : ` ${rest} ${smallUnit}`}`;
}
