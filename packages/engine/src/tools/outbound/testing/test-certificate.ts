// Creates certificates for tests, so that the repository contains no private key.

import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

export interface TestCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

/** A self-signed certificate for `hosts`, valid for a day around now (X.509 version 3, RFC 5280). */
export function createTestCertificate(hosts: readonly string[], now = Date.now()): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const name = sequence(der(0x31, sequence(objectId(0x55, 0x04, 0x03), der(0x0c, Buffer.from("test")))));
  const names = sequence(...hosts.map((host) => der(0x82, Buffer.from(host))));
  const alternativeNames = sequence(objectId(0x55, 0x1d, 0x11), der(0x04, names));
  const day = 86_400_000;
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(time(now - day), time(now + day)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(alternativeNames)),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", certificate, privateKey)]));
  const base64 = sequence(certificate, ecdsaWithSha256, signature).toString("base64");
  const lines = base64.match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
  };
}

/** Encodes one DER value: tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(...bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function time(at: number): Buffer {
  const text = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return der(0x18, Buffer.from(text));
}
