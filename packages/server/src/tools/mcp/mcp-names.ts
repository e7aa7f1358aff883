import { createHash } from "node:crypto";

const MAX_LENGTH = 64;
const DIGEST_LENGTH = 8;

/**
 * The name by which a model knows a tool of a server: `SERVER_TOOL`. Characters that models do not take become `_`; one that is too long
 * ends in a digest of the whole, so that it is the same name each time and no other tool's.
 */
export function toolNameOf(server: string, tool: string): string {
  const whole = `${server}_${tool}`;
  const name = whole.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  if (name.length <= MAX_LENGTH) return name;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, DIGEST_LENGTH);
  return `${name.slice(0, MAX_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
}
