// Maps place names to the time zones that the tool `current_time` accepts.

const regions = [
  "Europe",
  "America",
  "Asia",
  "Africa",
  "Australia",
  "Pacific",
  "Atlantic",
  "Indian",
  "Antarctica",
  "Arctic",
  "America/Argentina",
  "America/Indiana",
  "America/Kentucky",
  "America/North_Dakota",
];

/**
 * Returns the IANA time zone of a place ("Tokyo" is Asia/Tokyo). Zone names and unknown places are returned
 * unchanged.
 */
export function timeZoneOf(place: string): string {
  if (isTimeZone(place)) return place;
  const city = place
    .normalize("NFD")
    .replace(/[\p{Mark}.'’]/gu, "")
    .trim()
    .split(/\s+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("_");
  const region = regions.find((candidate) => isTimeZone(`${candidate}/${city}`));
  return region === undefined ? place : `${region}/${city}`;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
