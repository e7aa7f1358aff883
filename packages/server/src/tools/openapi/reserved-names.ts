import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { objectAt, textAt } from "./fields.ts";
import type { ParameterPlace } from "./parameter.ts";

/** Headers that say who asks, what is asked, or how it travels. */
const reservedHeaders = (
  "accept authorization connection content-encoding content-length content-type cookie expect forwarded host idempotency-key " +
  "keep-alive origin referer te trailer transfer-encoding upgrade via x-http-method x-http-method-override x-method-override " +
  "x-original-host x-original-url x-real-ip x-rewrite-url"
).split(" ");
const reservedBeginnings = /^(?:proxy-|sec-|x-forwarded-)/;

/**
 * Which parameters a model has no say in: the headers above, what the operator sends, and where the document says that keys go.
 *
 * @param headers the operator's.
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
    // The operator's cookies are one header, over which nothing is written.
    if (place === "cookie") return sent.has("cookie");
    if (place !== "header") return false;
    return sent.has(small) || reservedHeaders.includes(small) || reservedBeginnings.test(small);
  };
}
