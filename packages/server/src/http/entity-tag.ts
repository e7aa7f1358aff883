const TAG = /(?:W\/)?("[^"]*")/g;

/**
 * Whether `If-None-Match` names the entity tag, so that a GET is answered with 304: a list or `*`, compared weakly
 * (RFC 9110 section 13.1.2).
 */
export function noneMatch(header: string, tag: string): boolean {
  if (header === tag || header.trim() === "*") return true;
  for (const [, opaque] of header.matchAll(TAG)) if (opaque === tag) return true;
  return false;
}
