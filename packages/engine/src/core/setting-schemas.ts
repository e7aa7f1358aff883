// Setting schemas shared by plugin sections and the rest of the configuration.

import { z } from "zod";

export const BASE_URL_RULE = "must be an http or https URL without user name, password and query";
/** Message for a URL that `isServerURL` rejects. */
export const SERVER_URL_RULE =
  "must be an http or https URL without user name and password; put keys in headers";

/** A text that is not blank. */
export const text = z.string().regex(/\S/, "must not be blank");

export const HEADER_VALUE_RULE = "must be the value of a header field: one line of Latin-1 text";
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Header fields by name. Values are one line of Latin-1 (RFC 9110). */
export const headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~0-9a-zA-Z-]+$/, "must be the name of a header field"),
  z.string().regex(HEADER_VALUE, HEADER_VALUE_RULE),
);

export function isHeaderValue(value: string): boolean {
  return HEADER_VALUE.test(value);
}

export function isBaseURL(value: string): boolean {
  return isServerURL(value) && URL.parse(value)?.search === "";
}

/** An http or https URL without credentials and query. */
export const baseURL = z.string().refine(isBaseURL, BASE_URL_RULE).meta({ pattern: "^https?://" });

/** Returns true for an http or https URL without credentials; a query is allowed. */
export function isServerURL(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    url.hash === ""
  );
}
