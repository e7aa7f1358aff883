import { cleanText } from "../core/json.ts";

const MAX_LENGTH = 100;

/** Returns the title of a tool as a field to spread, on one line and cut; no field for a blank one. */
export function titleOf(written: unknown): { readonly title?: string } {
  if (typeof written !== "string") return {};
  const title = cleanText(written).trim().replaceAll(/\s+/g, " ");
  if (title === "") return {};
  return { title: title.length > MAX_LENGTH ? `${title.slice(0, MAX_LENGTH).toWellFormed()}…` : title };
}
