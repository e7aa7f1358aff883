// Classifies IP addresses, for the guard against server-side request forgery (SSRF).

import ipaddr from "ipaddr.js";

/**
 * - `public`: reachable from anywhere.
 * - `translated_public`: a public IPv4 address behind the well-known NAT64 prefix (RFC 6052).
 * - `loopback`, `private`, `link_local`: this machine, private networks, the local link.
 * - `metadata`: the metadata services of clouds, which serve credentials.
 * - `carrier`: an IPv6 address that embeds an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo), and
 *   could bypass a check of the IPv4 address.
 * - `special`: unspecified, broadcast, multicast, documentation, reserved; and any text that is not an
 *   address.
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

/**
 * Metadata addresses in addition to 169.254.0.0/16: of Alibaba, Azure and Oracle (IPv4), and of AWS, Google,
 * Scaleway and Oracle (IPv6).
 */
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

/** Range names of ipaddr.js; all others are `special`. */
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

/**
 * Addresses for benchmarks (RFC 2544), which private networks use too, and some machines for all of their
 * traffic.
 */
const benchmarking = ipaddr.IPv4.parseCIDR("198.18.0.0/15");
/** IPv4-compatible addresses, deprecated (RFC 4291 section 2.5.5.1). */
const compatible = ipaddr.IPv6.parseCIDR("::/96");
/** NAT64 addresses (RFC 6052 section 2.1). */
const translation = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
/** The global unicast space that IANA has allocated; the rest of IPv6 is unassigned. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns the kind of an address. `address` is dotted decimal IPv4, or IPv6 without brackets. Other notations
 * are `special`.
 */
export function addressKind(address: string): AddressKind {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return kindOfIPv4(ipaddr.IPv4.parse(address));
  // Checked first: `parse` also accepts IPv4 with omitted parts, in hexadecimal and in octal.
  if (!address.includes(":") || !ipaddr.IPv6.isValid(address)) return "special";
  return kindOfIPv6(ipaddr.IPv6.parse(address));
}

function kindOfIPv4(address: ipaddr.IPv4): AddressKind {
  if (metadataAddresses.has(address.toNormalizedString())) return "metadata";
  if (address.match(benchmarking)) return "private";
  return kinds[address.range()] ?? "special";
}

function kindOfIPv6(address: ipaddr.IPv6): AddressKind {
  // A zone (`%eth0`) names the interface, not the address.
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
