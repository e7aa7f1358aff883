// Sign-In with Ethereum messages (EIP-4361) and their signatures. Loaded at the first sign-in, because viem is large and optional.

import { type Address, getAddress, type Hex, isAddressEqual, recoverMessageAddress } from "viem";
import { InvalidRequest, type ServiceError } from "../../core/errors.ts";
import { refusedProof } from "./siwe-refusals.ts";

/** Milliseconds for which a message can be used after its `Issued At`. */
const MAX_AGE_MS = 60 * 60_000;
/** Maximum milliseconds by which a client's clock may be ahead. */
const MAX_AHEAD_MS = 60_000;
/** Maximum characters of an expected line in an error. */
const QUOTED_MAX = 200;

const HEADER =
  /^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):\/\/)?(?<domain>\S+) wants you to sign in with your Ethereum account:$/;
const NO_HEADER =
  'its first line must be the domain of the page, followed by " wants you to sign in with your Ethereum account:"';
const URI = /^[a-z][a-z0-9+.-]*:(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;
/**
 * Any language, because viem and others write what the page says; EIP-4361 allows ASCII only. Without direction
 * marks, which could make a wallet show another text than the one that is signed.
 */
const STATEMENT = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]*$/u;

const isTime = (text: string): boolean => TIME.test(text) && !Number.isNaN(timeOf(text));
const isUri = (text: string): boolean => URI.test(text);

interface Field {
  readonly label: string;
  readonly isRequired: boolean;
  readonly accepts: (value: string) => boolean;
  /** Completes "its ... must be". */
  readonly form: string;
}

const A_TIME = "a time in RFC 3339 format, such as 2026-11-20T12:00:00Z";
/** In the order in which a message has them. */
const FIELDS: readonly Field[] = [
  { label: "URI", isRequired: true, accepts: isUri, form: "a URI (RFC 3986), such as https://example.com" },
  { label: "Version", isRequired: true, accepts: (value) => value === "1", form: "1" },
  { label: "Chain ID", isRequired: true, accepts: isChainId, form: "a decimal number without leading zeros" },
  {
    label: "Nonce",
    isRequired: true,
    accepts: (value) => /^[a-zA-Z0-9]{8,}$/.test(value),
    form: "at least 8 letters and digits",
  },
  { label: "Issued At", isRequired: true, accepts: isTime, form: A_TIME },
  { label: "Expiration Time", isRequired: false, accepts: isTime, form: A_TIME },
  { label: "Not Before", isRequired: false, accepts: isTime, form: A_TIME },
  {
    label: "Request ID",
    isRequired: false,
    accepts: (value) => /^(?:[\w\-.~!$&'()*+,;=:@]|%[0-9a-f]{2})*$/i.test(value),
    form: "letters, digits and other characters of a URI's path",
  },
];

export interface SignInMessage {
  readonly text: string;
  readonly address: Address;
  readonly nonce: string;
  readonly chainId: number;
  /** The message's `Expiration Time` in milliseconds since the Unix epoch; `Infinity` if absent. */
  readonly end: number;
}

/** Returns the parts of a message that is valid now and for one of these domains, or the error for the client. */
export function readMessage(
  text: string,
  now: number,
  domains: readonly string[],
): SignInMessage | ServiceError {
  const parts = parse(text);
  if (typeof parts === "string") return malformed(parts);
  const { scheme, domain, address, fields } = parts;
  const valueOf = (label: string): string => fields.get(label) ?? "";
  const timeAt = (label: string): number | null => (fields.has(label) ? timeOf(valueOf(label)) : null);

  if (!domains.includes(domain.toLowerCase())) return refusedProof("siwe_domain_refused");
  if (!isOfDomain(valueOf("URI"), scheme, domain)) {
    const detail = `The message's URI is not of its domain. Create it with the origin of the page that signs in as \`uri\`: ${scheme ?? "https"}://${domain}.`;
    return refusedProof("siwe_domain_refused", detail);
  }
  const end = timeAt("Expiration Time") ?? Number.POSITIVE_INFINITY;
  if (end <= now || (timeAt("Not Before") ?? 0) > now) return refusedProof("siwe_message_expired");
  const age = now - timeOf(valueOf("Issued At"));
  if (age > MAX_AGE_MS || age < -MAX_AHEAD_MS) {
    const detail = `The message's Issued At is ${age > 0 ? "over an hour ago" : "in the future"}. Sign a new one with the current time: for the service it is ${new Date(now).toISOString()}.`;
    return refusedProof("siwe_message_expired", detail);
  }
  return { text, address, nonce: valueOf("Nonce"), chainId: Number(valueOf("Chain ID")), end };
}

/** Returns true if the key of the account signed the message (EIP-191). Makes no network requests. */
export async function isSignedByAccount({ text, address }: SignInMessage, signature: Hex): Promise<boolean> {
  try {
    return isAddressEqual(await recoverMessageAddress({ message: text, signature }), address);
  } catch {
    // Wrong length or not a curve point, so no account created it; a contract may still accept it.
    return false;
  }
}

interface Parts {
  readonly scheme: string | null;
  readonly domain: string;
  /** With its checksum (ERC-55). */
  readonly address: Address;
  /** `null` for none, which is not the same text as an empty one. */
  readonly statement: string | null;
  readonly fields: ReadonlyMap<string, string>;
  /** `null` for none, which is not the same text as an empty list. */
  readonly resources: readonly string[] | null;
}

/** Returns the parts of a message, or what is wrong with it. Text that the parts do not account for is wrong. */
function parse(text: string): Parts | string {
  if (text.includes("\r"))
    return "its lines must end with a line feed (\\n) alone, without a carriage return (\\r)";
  const lines = text.split("\n");
  const [header = "", addressLine = "", , statementLine = "", afterStatement = ""] = lines;
  const { scheme = null, domain } = HEADER.exec(header)?.groups ?? {};
  if (domain === undefined) return NO_HEADER;
  // Lower case would turn other letters into ASCII, such as U+212A into k.
  if (!/^[\x21-\x7e]+$/.test(domain))
    return "its domain must be ASCII, so write an international name in Punycode (xn--)";
  if (!/^0x[0-9a-f]{40}$/i.test(addressLine))
    return "its second line must be an address: 0x and 40 hexadecimal digits";
  const statement = statementLine === "" && afterStatement !== "" ? null : statementLine;
  if (!STATEMENT.test(statement ?? ""))
    return "its statement must be one line without control characters and direction marks";
  const rest = lines.slice(statement === null ? 4 : 5);
  const lineNumber = (): number => lines.length - rest.length + 1;
  const fields = new Map<string, string>();
  for (const { label, isRequired, accepts, form } of FIELDS) {
    const prefix = `${label}: `;
    if (rest[0]?.startsWith(prefix) === true) {
      const value = rest.shift()?.slice(prefix.length) ?? "";
      if (!accepts(value)) return `its ${label} must be ${form}`;
      fields.set(label, value);
    } else if (isRequired) return `line ${lineNumber()} must begin with "${prefix}"`;
  }
  const resources = rest[0] === "Resources:" ? rest.slice(1).map((line) => line.replace(/^- /, "")) : null;
  if (resources?.every(isUri) === false)
    return 'each line after "Resources:" must be "- " and a URI (RFC 3986)';
  const parts = {
    scheme,
    domain,
    address: getAddress(addressLine.toLowerCase()),
    statement,
    fields,
    resources,
  };
  return differenceOf(lines, linesOf(parts)) ?? parts;
}

/** Returns the lines of the one message that has these parts. */
function linesOf({ scheme, domain, address, statement, fields, resources }: Parts): readonly string[] {
  return [
    `${scheme === null ? "" : `${scheme}://`}${domain} wants you to sign in with your Ethereum account:`,
    address,
    "",
    ...(statement === null ? [] : [statement]),
    "",
    ...[...fields].map(([label, value]) => `${label}: ${value}`),
    ...(resources === null ? [] : ["Resources:", ...resources.map((uri) => `- ${uri}`)]),
  ];
}

/** Describes the first difference between two texts, as a clause; `null` if they are equal. */
function differenceOf(lines: readonly string[], expected: readonly string[]): string | null {
  const at = lines.findIndex((line, index) => line !== expected[index]);
  if (at === -1) return null;
  const line = expected[at];
  return line === undefined
    ? `it must end after line ${expected.length}, without more text or an empty line`
    : `line ${at + 1} must be ${line === "" ? "empty" : `"${line.slice(0, QUOTED_MAX)}"`}`;
}

function isChainId(value: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(value) && Number.isSafeInteger(Number(value));
}

/** Returns true if the URI's authority is the domain, ignoring case and the scheme's default port, and if the schemes agree. */
function isOfDomain(uri: string, scheme: string | null, domain: string): boolean {
  const [, ofUri = "", authority = ""] = /^([^:]+):\/\/([^/?#]*)/.exec(uri.toLowerCase()) ?? [];
  const port = { http: ":80", https: ":443" }[ofUri];
  const host = (text: string): string =>
    port !== undefined && text.endsWith(port) ? text.slice(0, -port.length) : text;
  return (
    host(authority) === host(domain.toLowerCase()) && (scheme === null || scheme.toLowerCase() === ofUri)
  );
}

/** Returns the time of RFC 3339 text in milliseconds since the Unix epoch; NaN for a day or hour that does not exist. */
function timeOf(text: string): number {
  return Date.parse(text.toUpperCase());
}

function malformed(reason: string): ServiceError {
  const detail = `The message is not a valid Sign-In with Ethereum message (EIP-4361): ${reason}. Create it with a library, such as createSiweMessage of viem.`;
  return new InvalidRequest("siwe_message_invalid", detail);
}
