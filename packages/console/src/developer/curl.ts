// Converts a recorded request into a command for a POSIX shell, escaping everything that curl would interpret
// (a file after "@", globs in a URL).

import type { RecordedCall, RecordedHeader } from "./recorded-request.ts";

/** Returns the command, one option per line. Secrets appear as shell variables (`$COLLOQUY_APP_KEY`). */
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
  // Header names are tokens (RFC 9110); within double quotes only "$" and "`" need escaping.
  if (variable !== null) return `"${`${name}: ${value}`.replaceAll(/["$`\\]/g, "\\$&")}$${variable}"`;
  // For curl, "Name:" removes the header and "Name;" sends it without a value.
  return quoted(value === "" ? `${name};` : `${name}: ${value}`);
}

/**
 * Quotes a word with single quotes, in which only the quote itself is special; simple words stay as they are.
 */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
