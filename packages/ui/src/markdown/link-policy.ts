// Decides which links in answers are clickable. Answers quote tools, pages and people, so every URL is
// untrusted.

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/**
 * Returns the URL as a browser resolves it; `null` for URLs that must not be clickable, such as relative,
 * `javascript:` and `data:` URLs.
 */
export function followedUrl(url: string): string | null {
  // Browsers drop these characters within a URL, so `java\nscript:` would be a script.
  const read = parsed(url.replaceAll(/[\u0000-\u0020\u007F]/g, (character) => encodeURIComponent(character)));
  return read !== null && ALLOWED.has(read.protocol) ? read.href : null;
}

/** Returns the host name of a URL; `null` if it has none. */
export function hostOf(url: string): string | null {
  return parsed(url)?.host || null;
}

function parsed(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}
