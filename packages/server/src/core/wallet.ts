const PRINTABLE_WITHOUT_SPACE = /^[^\s\p{C}]{1,128}$/u;

/**
 * Normalizes a wallet address for storage and comparison, or returns `null` if it is invalid: 1 to 128 printable characters
 * without white space; `0x` addresses in lower case (contract section 4).
 */
export function parsePublicKey(text: string): string | null {
  if (text.length > 128 || !PRINTABLE_WITHOUT_SPACE.test(text)) return null;
  return /^0x/i.test(text) ? text.toLowerCase() : text;
}
