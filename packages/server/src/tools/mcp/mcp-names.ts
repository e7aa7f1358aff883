import { createHash } from "node:crypto";

const MAX_LENGTH = 64;
const DIGEST_LENGTH = 8;

/**
 * Returns the name of a server's tool for the model: `SERVER_TOOL`. Characters that providers do not accept
 * become `_`. A name that is too long ends in a digest of the whole name, which keeps it stable and unique.
 */
export function toolNameOf(server: string, tool: string): string {
  const whole = `${server}_${tool}`;
  const name = whole.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  if (name.length <= MAX_LENGTH) return name;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, DIGEST_LENGTH);
  return `${name.slice(0, MAX_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
}
