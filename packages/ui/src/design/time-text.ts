/** Returns the time of day, with the date unless it is today, in the reader's locale and time zone. */
export function timeText(at: Date, now: Date, locale?: string): string {
  const isToday = at.toDateString() === now.toDateString();
  return at.toLocaleString(locale ?? [], {
    hour: "2-digit",
    minute: "2-digit",
    ...(!isToday && { day: "numeric", month: "short" }),
    ...(at.getFullYear() !== now.getFullYear() && { year: "numeric" }),
  });
}
