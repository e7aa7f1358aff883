// Which links in answers may be followed. Answers quote tools, pages and people, so every URL in them is
// untrusted.

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/**
 * Returns the URL as a browser resolves it; `null` for URLs that are not followed: relative ones, scripts,
 * data and so on.
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
