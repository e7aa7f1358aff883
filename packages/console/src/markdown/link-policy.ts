// What a link of an answer may lead to. Answers quote tools, pages and people, so each address in them is a stranger's.

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/** The address as a browser will read it, `null` for one that is not followed: relative ones, scripts, data and the like. */
export function followedUrl(url: string): string | null {
  // A browser drops these inside an address, so `java\nscript:` would be a script.
  const read = parsed(url.replaceAll(/[\u0000-\u0020\u007F]/g, (character) => encodeURIComponent(character)));
  return read !== null && ALLOWED.has(read.protocol) ? read.href : null;
}

/** The name of the host that an address leads to, `null` where there is none to tell. */
export function hostOf(url: string): string | null {
  return parsed(url)?.host || null;
}

function parsed(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}
