/**
 * What an address counts as: one customer has a whole /64 of IPv6 (RFC 6177), so counting single addresses would count
 * nobody. `undefined` is the address of a client that has gone already.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return "";
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  if (!plain.includes(":")) return plain;
  const [head = "", tail = ""] = plain.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const last = tail === "" ? [] : tail.split(":");
  const all = [...groups, ...Array<string>(Math.max(0, 8 - groups.length - last.length)).fill("0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}
