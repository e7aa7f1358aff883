import { isJsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Tool } from "../../core/ports/driven/tool.ts";

const secondMs = 1_000;

/**
 * Creates the tool that tells a model the date and time: `{iso, date, time, weekday, timezone, utc_offset,
 * unix}`, with `unix` in seconds. Defaults to UTC, so that the result does not depend on the server's
 * location.
 */
export function createCurrentTimeTool(clock: Clock): Tool {
  return {
    name: "current_time",
    description: "Tells the current date, time and weekday in a time zone (UTC when none is given).",
    inputSchema: {
      type: "object",
      properties: {
        timezone: {
          type: "string",
          description: 'IANA name of the time zone, for instance "Europe/Berlin" or "UTC".',
          minLength: 1,
          maxLength: 100,
        },
      },
      additionalProperties: false,
    },
    effect: "read",
    async execute(input) {
      const timezone = isJsonObject(input) ? (input["timezone"] ?? "UTC") : "UTC";
      if (typeof timezone !== "string") {
        throw new TypeError('Give the time zone as text: {"timezone": "Europe/Berlin"}.');
      }
      return timeIn(timezone, clock.now());
    },
  };
}

/** `now` is in milliseconds since the Unix epoch. */
function timeIn(timezone: string, now: number): Record<string, string | number> {
  const format = openTimeZone(timezone);
  const parts = new Map(format.formatToParts(now).map((part) => [part.type, part.value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? "";
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  const time = `${part("hour")}:${part("minute")}:${part("second")}`;
  // `longOffset` formats as "GMT+09:00", and as "GMT" for a zero offset.
  const offset = part("timeZoneName").replace("GMT", "") || "+00:00";
  return {
    iso: `${date}T${time}${offset}`,
    date,
    time,
    weekday: part("weekday"),
    timezone: spellZone(timezone, format.resolvedOptions().timeZone),
    utc_offset: offset,
    unix: Math.floor(now / secondMs),
  };
}

function openTimeZone(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      weekday: "long",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    });
  } catch {
    throw new RangeError(
      `Unknown time zone "${timeZone}". Use an IANA name such as "Europe/Berlin", "America/New_York", "Asia/Tokyo" or "UTC".`,
    );
  }
}

/** Corrects the letter case, but keeps the name: the runtime resolves Asia/Kolkata to Asia/Calcutta. */
function spellZone(asked: string, resolved: string): string {
  return asked.toLowerCase() === resolved.toLowerCase() ? resolved : asked;
}
