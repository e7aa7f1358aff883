/**
 * How much a client wants a media type, by its `Accept` header: 0 for not at all, up to 1. The most specific range that
 * matches decides (RFC 9110 section 12.5.1); parameters other than `q` are not looked at.
 */
export function acceptQuality(header: string, type: string): number {
  const [family = ""] = type.split("/");
  let specificity = 0;
  let quality = 0;
  for (const range of header.split(",")) {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const rank = name === type ? 3 : name === `${family}/*` ? 2 : name === "*/*" ? 1 : 0;
    if (rank === 0 || rank < specificity) continue;
    const own = weight(parameters);
    quality = rank === specificity ? Math.max(quality, own) : own;
    specificity = rank;
  }
  return quality;
}

function weight(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  if (text === undefined) return 1;
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
