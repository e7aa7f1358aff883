// What an IP address stands for. The guard against requests into networks that a model has no business in (SSRF) decides by it.

import ipaddr from "ipaddr.js";

/**
 * - `public`: reachable from anywhere.
 * - `translated_public`: a public IPv4 address behind the well-known NAT64 prefix (RFC 6052).
 * - `loopback`, `private`, `link_local`: this machine, networks behind it, the wire it hangs on.
 * - `metadata`: where clouds keep the credentials of their machines.
 * - `carrier`: an IPv6 address that carries an IPv4 address within it (mapped, compatible, NAT64, 6to4, Teredo): a second spelling for
 *   what the first one was refused for.
 * - `special`: unspecified, broadcast, multicast, documentation, reserved; and whatever is no address.
 */
export type AddressKind =
  | "public"
  | "translated_public"
  | "loopback"
  | "private"
  | "link_local"
  | "metadata"
  | "carrier"
  | "special";

/** Beside 169.254.0.0/16: Alibaba, Azure, Oracle; AWS, Google, Scaleway, Oracle. */
const metadataAddresses = new Set(
  [
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:42::42",
    "fd00:c1::a9fe:a9fe",
  ].map((address) => ipaddr.parse(address).toNormalizedString()),
);

/** Ranges as ipaddr.js names them; what is not here is `special`. */
const kinds: Readonly<Record<string, AddressKind>> = {
  unicast: "public",
  loopback: "loopback",
  private: "private",
  carrierGradeNat: "private",
  uniqueLocal: "private",
  linkLocal: "link_local",
  ipv4Mapped: "carrier",
  rfc6052: "carrier",
  rfc6145: "carrier",
  "6to4": "carrier",
  teredo: "carrier",
};

/** Benchmarking (RFC 2544), which private networks use too, and some machines for all of their traffic. */
const benchmarking = ipaddr.IPv4.parseCIDR("198.18.0.0/15");
/** IPv4-compatible, deprecated (RFC 4291 section 2.5.5.1). */
const compatible = ipaddr.IPv6.parseCIDR("::/96");
/** NAT64 (RFC 6052 section 2.1). */
const translation = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
/** All that IANA has given out as global unicast; the rest of IPv6 belongs to nobody. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/** `address` is what a resolver answers: IPv4 in four decimal parts, or IPv6 without brackets. Any other text is `special`. */
export function addressKind(address: string): AddressKind {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return kindOfIPv4(ipaddr.IPv4.parse(address));
  // Checked first: `parse` also takes IPv4 with parts left out, in hexadecimal and in octal.
  if (!address.includes(":") || !ipaddr.IPv6.isValid(address)) return "special";
  return kindOfIPv6(ipaddr.IPv6.parse(address));
}

function kindOfIPv4(address: ipaddr.IPv4): AddressKind {
  if (metadataAddresses.has(address.toNormalizedString())) return "metadata";
  if (address.match(benchmarking)) return "private";
  return kinds[address.range()] ?? "special";
}

function kindOfIPv6(address: ipaddr.IPv6): AddressKind {
  // A zone (`%eth0`) says where an address holds, not which it is.
  const plain = new ipaddr.IPv6(address.parts);
  if (metadataAddresses.has(plain.toNormalizedString())) return "metadata";
  if (plain.match(translation)) {
    const inner = new ipaddr.IPv4(plain.toByteArray().slice(12));
    return kindOfIPv4(inner) === "public" ? "translated_public" : "carrier";
  }
  const kind = kinds[plain.range()] ?? "special";
  if (kind !== "public") return kind;
  if (plain.match(compatible)) return "carrier";
  return plain.match(globalUnicast) ? "public" : "special";
}
