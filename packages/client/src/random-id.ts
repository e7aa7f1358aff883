/** Returns a random UUID. Pages loaded over plain HTTP have no `crypto.randomUUID`. */
export function randomId(): string {
  // React Native has no `crypto`. An id is a capability, so it must not be guessable.
  if (typeof crypto === "undefined")
    throw new TypeError("crypto.getRandomValues is missing. Import react-native-get-random-values first.");
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
