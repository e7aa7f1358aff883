// Decides which images of answers load. Answers quote tools, pages and people: loading an image tells its host
// the reader's IP address, and whatever the text of the answer put into the URL.

/** Images that a page loads; all others are shown as links. */
export interface AllowedImages {
  /** Hosts, with their port if it is not 443, whose images are loaded over https. */
  readonly hosts?: readonly string[] | undefined;
  /** https URL that loads images of other hosts; `{url}` stands for the image's percent-encoded URL. */
  readonly proxy?: string | undefined;
}

/** Returns the URL from which to load an image; `null` if it must not be loaded. `url` is absolute. */
export function imageUrl(url: string, { hosts = [], proxy }: AllowedImages): string | null {
  const { protocol, host, username } = new URL(url);
  if (protocol === "https:" && username === "" && hosts.includes(host)) return url;
  const isRemote = protocol === "https:" || protocol === "http:";
  return proxy === undefined || !isRemote ? null : proxy.replace("{url}", () => encodeURIComponent(url));
}
