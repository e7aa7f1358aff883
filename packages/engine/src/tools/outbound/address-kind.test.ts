import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";
import { addressKind } from "./address-kind.ts";

/** Generates addresses of a range in the notation of resolvers. */
function within(cidr: string): fc.Arbitrary<string> {
  const [network, length] = ipaddr.parseCIDR(cidr);
  const start = network.toByteArray();
  return fc.uint8Array({ minLength: start.length, maxLength: start.length }).map((random) => {
    const bytes = start.map((byte, index) => {
      const fixed = Math.min(Math.max(length - index * 8, 0), 8);
      const mask = (0xff << (8 - fixed)) & 0xff;
      return (byte & mask) | ((random[index] ?? 0) & ~mask & 0xff);
    });
    return ipaddr.fromByteArray(bytes).toString();
  });
}

/** From the IANA special-purpose address registries, not from the library's table. */
const neverPublic = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "255.255.255.255/32",
  "::/128",
  "::1/128",
  "::/96",
  "::ffff:0:0/96",
  "::ffff:0:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
  "4000::/2",
  "8000::/1",
];

describe("addressKind", () => {
  it.each(neverPublic)("is never public in %s", (cidr) => {
    fc.assert(
      fc.property(within(cidr), (address) => {
        expect(addressKind(address)).not.toBe("public");
      }),
    );
  });

  it.each([
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "192.167.255.255",
    "223.255.255.255",
    "2606:2800:220:1:248:1893:25c8:1946",
    "2a00:1450:4001:830::200e",
  ])("is public for %s", (address) => {
    expect(addressKind(address)).toBe("public");
  });

  it.each([
    ["127.0.0.1", "loopback"],
    ["127.255.255.255", "loopback"],
    ["::1", "loopback"],
    ["10.1.2.3", "private"],
    ["172.31.255.255", "private"],
    ["192.168.0.1", "private"],
    ["100.64.0.1", "private"],
    ["198.19.0.1", "private"],
    ["fd12:3456::1", "private"],
    ["169.254.0.1", "link_local"],
    ["fe80::1", "link_local"],
    ["fe80::1%eth0", "link_local"],
    ["169.254.169.254", "metadata"],
    ["100.100.100.200", "metadata"],
    ["168.63.129.16", "metadata"],
    ["192.0.0.192", "metadata"],
    ["fd00:ec2::254", "metadata"],
    ["fd00:0ec2:0:0:0:0:0:0254", "metadata"],
    ["fd00:ec2::254%eth0", "metadata"],
    ["fd20:ce::254", "metadata"],
    ["fd00:42::42", "metadata"],
    ["::ffff:8.8.8.8", "carrier"],
    ["::ffff:127.0.0.1", "carrier"],
    ["::ffff:a9fe:a9fe", "carrier"],
    ["::127.0.0.1", "carrier"],
    ["64:ff9b::127.0.0.1", "carrier"],
    ["64:ff9b::a9fe:a9fe", "carrier"],
    ["64:ff9b::8.8.8.8", "translated_public"],
    ["64:ff9b:1::808:808", "carrier"],
    ["2002:7f00:1::1", "carrier"],
    ["2001::1", "carrier"],
    ["0.0.0.0", "special"],
    ["255.255.255.255", "special"],
    ["224.0.0.1", "special"],
    ["::", "special"],
    ["2001:db8::1", "special"],
  ])("classifies %s as %s", (address, kind) => {
    expect(addressKind(address)).toBe(kind);
  });

  it.each([
    "",
    "localhost",
    "127.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "8.8.8",
    "8.8.8.8 ",
    "[::1]",
    "1:2",
  ])("is special for %j, which no resolver returns", (text) => {
    expect(addressKind(text)).toBe("special");
  });

  it("returns a kind for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.ipV4Extended()), (text) => {
        expect(addressKind(text)).toEqual(expect.any(String));
      }),
    );
  });

  it("is never public for an IPv6 address that embeds a private IPv4 address", () => {
    const inner = fc.oneof(...["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"].map(within));
    fc.assert(
      fc.property(inner, (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = ipaddr.IPv4.parse(address).toByteArray();
        const high = ((a << 8) | b).toString(16);
        const low = ((c << 8) | d).toString(16);
        for (const carrier of [
          `::ffff:${high}:${low}`,
          `::${high}:${low}`,
          `64:ff9b::${high}:${low}`,
          `64:ff9b:1::${high}:${low}`,
          `2002:${high}:${low}::1`,
          `::ffff:0:${high}:${low}`,
        ]) {
          expect(["carrier", "special", "loopback"]).toContain(addressKind(carrier));
        }
      }),
    );
  });
});
