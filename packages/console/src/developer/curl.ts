// A recorded call as a command for a POSIX shell, exactly: what curl would read as something else (a file after "@", ranges in a URL) is
// kept from being read so.

import type { RecordedCall, RecordedHeader } from "./recorded-request.ts";

/** The command, one option a line. Secrets stand in it as shell variables (`$COLLOQUY_APP_KEY`). */
export function curlOf({ method, url, headers, body }: RecordedCall): string {
  const isStream = headers.some(
    ({ name, value }) => name.toLowerCase() === "accept" && value.includes("text/event-stream"),
  );
  return [
    `curl${isStream ? " -N" : ""}${/[[\]{}]/.test(url) ? " --globoff" : ""}${methodOption(method)} ${quoted(url)}`,
    ...headers.map((header) => `-H ${headerText(header)}`),
    ...(body === null ? [] : [`--data-raw ${quoted(body)}`]),
  ].join(" \\\n  ");
}

function methodOption(method: string): string {
  if (method === "GET") return "";
  return method === "HEAD" ? " --head" : ` -X ${quoted(method)}`;
}

function headerText({ name, value, variable }: RecordedHeader): string {
  // Names of headers are tokens (RFC 9110), which need no care within double quotes but for "$" and "`".
  if (variable !== null) return `"${`${name}: ${value}`.replaceAll(/["$`\\]/g, "\\$&")}$${variable}"`;
  // curl takes "Name:" as the order to leave the header out, and "Name;" as one without a value.
  return quoted(value === "" ? `${name};` : `${name}: ${value}`);
}

/** Nothing means anything within single quotes but the quote itself; words that need none stay as they are. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
