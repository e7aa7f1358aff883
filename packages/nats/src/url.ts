// Validates NATS URLs. Messages never quote a URL, because it may contain a password.

import { decodePercent } from "@colloquy/engine/internal/core/json";
import { isRemoteHost } from "@colloquy/engine/internal/core/loopback";

/** Parses a comma-separated list of URLs, with `null` for each invalid one. */
function urlsIn(text: string): readonly (URL | null)[] {
  return text.split(",").map((part) => URL.parse(part.trim()));
}

/**
 * Returns an error message without a full stop; `null` if `text` is a valid comma-separated list of NATS
 * URLs.
 */
export function urlProblem(text: string): string | null {
  const urls = urlsIn(text);
  const schemes = new Set(urls.map((url) => url?.protocol));
  const isOneScheme = schemes.size === 1 && (schemes.has("nats:") || schemes.has("tls:"));
  const areComplete = urls.every(
    (url) => url !== null && url.hostname !== "" && ["", "/"].includes(url.pathname),
  );
  if (isOneScheme && areComplete) return null;
  return (
    "must be the URL of a NATS server, such as nats://user:password@nats.example.test:4222, or several separated by " +
    "commas, all with nats:// or all with tls:// (for an encrypted connection), without a path"
  );
}

/** Returns true if one of the URLs connects to a remote host without TLS. */
export function isPlainText(text: string): boolean {
  return urlsIn(text).some((url) => url?.protocol === "nats:" && isRemoteHost(decodePercent(url.hostname)));
}
