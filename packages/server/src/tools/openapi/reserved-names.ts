import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { objectAt, textAt } from "./fields.ts";
import type { ParameterPlace } from "./parameter.ts";

/** Headers about identity, routing, content or transport. */
const reservedHeaders = (
  "accept authorization connection content-encoding content-length content-type cookie expect forwarded host idempotency-key " +
  "keep-alive origin referer te trailer transfer-encoding upgrade via x-http-method x-http-method-override x-method-override " +
  "x-original-host x-original-url x-real-ip x-rewrite-url"
).split(" ");
const reservedBeginnings = /^(?:proxy-|sec-|x-forwarded-)/;

/**
 * Returns a predicate for parameters that the model must not set: reserved headers, configured headers, and
 * the parameters of the document's security schemes.
 *
 * @param headers the configured headers.
 */
export function reservedNames(
  document: JsonObject,
  headers: Readonly<Record<string, string>>,
): (place: ParameterPlace, name: string) => boolean {
  const schemes = Object.values(objectAt(objectAt(document, "components"), "securitySchemes") ?? {});
  const keys = schemes
    .filter(isJsonObject)
    .filter((scheme) => scheme["type"] === "apiKey")
    .map((scheme) => ({ place: textAt(scheme, "in"), name: textAt(scheme, "name").toLowerCase() }));
  const sent = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  return (place, name) => {
    const small = name.toLowerCase();
    if (keys.some((key) => key.place === place && key.name === small)) return true;
    // All configured cookies are one header, which must not be overwritten.
    if (place === "cookie") return sent.has("cookie");
    if (place !== "header") return false;
    return sent.has(small) || reservedHeaders.includes(small) || reservedBeginnings.test(small);
  };
}
