/** Returns the time of day, with the date unless it is today, in the reader's locale and time zone. */
export function expiryText(until: Date, now: Date, locale?: string): string {
  const isToday = until.toDateString() === now.toDateString();
  return until.toLocaleString(locale ?? [], {
    hour: "2-digit",
    minute: "2-digit",
    ...(!isToday && { day: "numeric", month: "short" }),
    ...(until.getFullYear() !== now.getFullYear() && { year: "numeric" }),
  });
}
