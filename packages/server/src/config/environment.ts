// Reads the environment variables (contract section 7). An empty variable counts as unset.

import { isIP } from "node:net";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import { isLoopbackName } from "@colloquy/engine/internal/core/loopback";
import { parseMasterKeys } from "@colloquy/engine/internal/core/secrets";
import { LOG_LEVELS, type LogLevel, type ServerConfig } from "./config.ts";
import { nearestName, suggestion } from "@colloquy/engine/internal/core/nearest-name";
import type { ConfigProblem } from "@colloquy/engine/internal/config/problem";
import {
  fileVariable,
  readSecret,
  variableText,
  type Environment,
  type VariableReading,
} from "@colloquy/engine/internal/config/secret-variable";
import nats from "@colloquy/nats";
import postgres from "@colloquy/postgres";
import type { StorageVariables } from "./storage-variables.ts";

/** Secrets, which can also be read from a file, such as the one that `COLLOQUY_ADMIN_KEY_FILE` names. */
const SECRET_VARIABLES = [
  "COLLOQUY_DATABASE_URL",
  "COLLOQUY_NATS_URL",
  "COLLOQUY_ADMIN_KEY",
  "COLLOQUY_SECRET_KEY",
  "COLLOQUY_APP_KEY",
  "COLLOQUY_TOKEN",
] as const;

/** All variables of Colloquy. `example.env` explains each. */
export const VARIABLES: readonly string[] = [
  "PORT",
  "HOST",
  "COLLOQUY_DATA_DIR",
  "COLLOQUY_CONFIG",
  "COLLOQUY_ALLOWED_HOSTS",
  "COLLOQUY_TRUSTED_PROXIES",
  "COLLOQUY_PUBLIC_URL",
  "COLLOQUY_LOG_LEVEL",
  ...SECRET_VARIABLES,
];

const NATS_WITHOUT_DATABASE =
  "connects nodes that share a database, but without COLLOQUY_DATABASE_URL there is only one node, on SQLite. " +
  "Set COLLOQUY_DATABASE_URL too, or unset this variable.";

const MAKE_ADMIN_KEY = "Make one with: openssl rand -base64 32";

export type EnvironmentSettings = Omit<
  ServerConfig,
  "corsOrigins" | "walletListing" | "rateLimits" | "signInDomains"
>;

export type EnvironmentReading = ReturnType<typeof readEnvironment>;

/** Reads the environment. An invalid variable adds a problem and takes its default. */
export function readEnvironment(environment: Environment, workingDirectory: string) {
  const problems: ConfigProblem[] = [];
  const take = <Value>(
    name: string,
    reading: VariableReading,
    fallback: Value,
    parse: (text: string) => Parsed<Value>,
  ): Value => {
    if ("text" in reading && reading.text === "") return fallback;
    const parsed = "problem" in reading ? reading : parse(reading.text);
    if ("value" in parsed) return parsed.value;
    problems.push({ source: "environment", location: name, message: parsed.problem });
    return fallback;
  };
  const read = <Value>(name: string, fallback: Value, parse: (text: string) => Parsed<Value>): Value =>
    take(name, { text: variableText(environment, name) }, fallback, parse);
  const secret = (
    name: (typeof SECRET_VARIABLES)[number],
    parse: (text: string) => Parsed<Hidden<string>>,
  ): Hidden<string> | null => take(name, readSecret(environment, name), null, parse);
  const path = (text: string): Parsed<string> => ({ value: resolve(workingDirectory, text) });

  const readProxy = (name: string): Hidden<URL> | null => {
    const { variable, text } = eitherCase(environment, name);
    return take<Hidden<URL> | null>(variable, { text }, null, parseProxyUrl);
  };

  const host = read("HOST", "127.0.0.1", parseHost);
  const named = read<readonly string[]>("COLLOQUY_ALLOWED_HOSTS", [], (text) =>
    parseList(text, parseAllowedHost),
  );
  const settings: EnvironmentSettings = {
    port: read("PORT", 8080, parsePort),
    host,
    loopback: isLoopbackName(host),
    dataDirectory: read("COLLOQUY_DATA_DIR", resolve(workingDirectory, "data"), path),
    allowedHosts: named.length === 0 || isLoopbackName(host) || isWildcard(host) ? named : [...named, host],
    trustedProxies: read<readonly string[]>("COLLOQUY_TRUSTED_PROXIES", [], (text) =>
      parseList(text, parseProxy),
    ),
    logLevel: read<LogLevel>("COLLOQUY_LOG_LEVEL", "info", parseLogLevel),
  };
  const databaseUrl = secret("COLLOQUY_DATABASE_URL", (text) => parseUrl(postgres, text));
  const hasDatabase =
    databaseUrl !== null || problems.some(({ location }) => location === "COLLOQUY_DATABASE_URL");
  const natsUrl = secret("COLLOQUY_NATS_URL", (text) =>
    hasDatabase ? parseUrl(nats, text) : { problem: NATS_WITHOUT_DATABASE },
  );
  return {
    settings,
    /** `COLLOQUY_CONFIG` as an absolute path; `null` if it is not set. */
    configPath: read<string | null>("COLLOQUY_CONFIG", null, path),
    /** Host of `COLLOQUY_PUBLIC_URL`, with a port if it has one; `null` if it is not set. */
    publicHost: read<string | null>("COLLOQUY_PUBLIC_URL", null, parsePublicUrl),
    secretKey: secret("COLLOQUY_SECRET_KEY", parseSecretKey),
    storage: {
      COLLOQUY_DATABASE_URL: databaseUrl,
      COLLOQUY_NATS_URL: natsUrl,
    } satisfies StorageVariables,
    adminKey: secret("COLLOQUY_ADMIN_KEY", parseAdminKey),
    proxies: {
      https: readProxy("HTTPS_PROXY"),
      http: readProxy("HTTP_PROXY"),
      direct: eitherCase(environment, "NO_PROXY")
        .text.split(/[\s,]+/)
        .filter((entry) => entry !== ""),
    },
    problems,
    warnings: warnings(settings),
  };
}

/** Warns of unknown `COLLOQUY_` variables. `named` are the variables that the configuration file refers to. */
export function unknownVariables(environment: Environment, named: ReadonlySet<string>): readonly string[] {
  const known = [...VARIABLES, ...[...SECRET_VARIABLES, ...named].map(fileVariable)];
  return Object.keys(environment)
    .filter((name) => name.startsWith("COLLOQUY_") && !known.includes(name) && !named.has(name))
    .toSorted()
    .map((name) => {
      const nearest = nearestName(name.slice("COLLOQUY_".length), known.map(withoutPrefix));
      const meant = known.find((other) => withoutPrefix(other) === nearest);
      return `${name} is set, but nothing reads it.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
    });
}

/**
 * Reports a service that other machines reach without a proxy and that has no list of allowed hosts: a foreign page
 * could call it through a user's browser (DNS rebinding). Only needed by commands that start a server.
 */
export function exposureProblems(settings: EnvironmentSettings): readonly ConfigProblem[] {
  const { allowedHosts, host, loopback, trustedProxies } = settings;
  if (loopback || trustedProxies.length > 0 || allowedHosts.length > 0) return [];
  const name = isWildcard(host) ? hostname().toLowerCase() : host;
  const message =
    `must list the host names that clients use, because HOST=${host} can be reached from other machines and ` +
    `COLLOQUY_TRUSTED_PROXIES names no proxy. Add this line, with further names separated by commas: COLLOQUY_ALLOWED_HOSTS=${name}`;
  return [{ source: "environment", location: "COLLOQUY_ALLOWED_HOSTS", message }];
}

/** The parsed value of a variable, or a sentence that says what is wrong with it. */
type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

/** Reads a variable of other programs in lower case, which takes precedence, or else in upper case. */
function eitherCase(
  environment: Environment,
  name: string,
): { readonly variable: string; readonly text: string } {
  const lower = variableText(environment, name.toLowerCase());
  if (lower !== "") return { variable: name.toLowerCase(), text: lower };
  return { variable: name, text: variableText(environment, name) };
}

function parseProxyUrl(text: string): Parsed<Hidden<URL>> {
  // Like curl, accept an address without a scheme.
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  return url !== null && ["http:", "https:"].includes(url.protocol)
    ? { value: new Hidden(url) }
    : { problem: "must be the URL of an HTTP proxy, such as http://proxy.example.com:3128." };
}

function parseSecretKey(text: string): Parsed<Hidden<string>> {
  const parsed = parseMasterKeys(text);
  return "problem" in parsed ? parsed : { value: new Hidden(text) };
}

/** Requires a key that is valid after `Bearer` in a header and not easy to guess. */
function parseAdminKey(text: string): Parsed<Hidden<string>> {
  if (!/^[\x21-\x7e]{24,512}$/.test(text)) {
    return { problem: `must be 24 to 512 printable ASCII characters without spaces. ${MAKE_ADMIN_KEY}` };
  }
  if (isGuessable(text)) {
    return { problem: `is too easy to guess: it repeats or counts up. ${MAKE_ADMIN_KEY}` };
  }
  return { value: new Hidden(text) };
}

function warnings(settings: EnvironmentSettings): readonly string[] {
  const { allowedHosts, loopback, trustedProxies } = settings;
  if (!loopback || trustedProxies.length > 0 || allowedHosts.every(isLoopbackName)) return [];
  return [
    "COLLOQUY_ALLOWED_HOSTS is set and COLLOQUY_TRUSTED_PROXIES is not, so clients of a proxy on this machine count as local: " +
      "nothing limits requests or attempts at the admin key. Set COLLOQUY_TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1.",
  ];
}

/** Checks a URL with the schema of the plugin's setting. */
function parseUrl(plugin: typeof postgres | typeof nats, text: string): Parsed<Hidden<string>> {
  const { error } = plugin.settings?.shape.url.safeParse(text) ?? {};
  if (error === undefined) return { value: new Hidden(text) };
  return { problem: (error.issues[0]?.message ?? "is wrong").replace(/(?<![.?])$/, ".") };
}

/** Returns true if the address stands for all interfaces (`0.0.0.0`, `::`). */
function isWildcard(host: string): boolean {
  return isIP(host) !== 0 && /^[0:.]+$/.test(host);
}

function withoutPrefix(name: string): string {
  return name.replace(/^COLLOQUY_/, "");
}

function parsePort(text: string): Parsed<number> {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return { value: port };
  return { problem: `must be a number from 0 to 65535 (0 takes a free port), not "${truncate(text)}".` };
}

function parseHost(text: string): Parsed<string> {
  const host = text.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0 || isHostName(host)) return { value: host.toLowerCase() };
  return {
    problem: `must be a host name or an IP address to bind to, without scheme or port, such as 127.0.0.1 or 0.0.0.0, not "${truncate(text)}".`,
  };
}

/** Returns the name without the port: a `Host` header may have any port. */
function parseAllowedHost(text: string): Parsed<string> {
  const [, name = "", port = "0"] =
    /^(.*?)(?::(\d{1,5}))?$/.exec(isIP(text) === 6 ? `[${text}]` : text) ?? [];
  const host = name.replace(/^\[(.*)\]$/, "$1");
  if ((isIP(host) !== 0 || isHostName(host)) && Number(port) <= 65_535) return { value: host.toLowerCase() };
  return {
    problem: `"${truncate(text)}" is not a host name. List names as they stand in a URL, without scheme and path, separated by commas: chat.example.test,127.0.0.2.`,
  };
}

/** Returns the host of the URL. */
function parsePublicUrl(text: string): Parsed<string> {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "") return { value: url.host };
  return {
    problem: `must be the URL at which people reach the service, such as https://chat.example.com, not "${truncate(text)}".`,
  };
}

function parseProxy(text: string): Parsed<string> {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  const widest = version === 4 ? 32 : 128;
  const bitsFit = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest);
  if (version !== 0 && bitsFit && rest.length === 0) return { value: text.toLowerCase() };
  return {
    problem: `"${truncate(text)}" is not an IP address or CIDR range. List the proxies in front of this server, separated by commas: 10.0.0.0/8,192.0.2.7.`,
  };
}

function parseLogLevel(text: string): Parsed<LogLevel> {
  const level = LOG_LEVELS.find((known) => known === text.toLowerCase());
  if (level !== undefined) return { value: level };
  return { problem: `"${truncate(text)}" is not a log level.${suggestion(text, LOG_LEVELS)}` };
}

function parseList(text: string, parse: (item: string) => Parsed<string>): Parsed<readonly string[]> {
  const parsed = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .map(parse);
  const problems = parsed.flatMap((item) => ("problem" in item ? [item.problem] : []));
  if (problems.length > 0) return { problem: problems.join(" ") };
  return { value: parsed.flatMap((item) => ("value" in item ? [item.value] : [])) };
}

function isHostName(text: string): boolean {
  // The last label of a name is never all digits: 1.2.3 is an incomplete address.
  return (
    text.length <= 253 &&
    /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i.test(text) &&
    !/(^|\.)\d+\.?$/.test(text)
  );
}

function truncate(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Minimum number of distinct characters outside runs. Of 24 random hexadecimal digits, 1 key in 35,000 has fewer. */
const MIN_DISTINCT_CHARACTERS = 8;

/**
 * Returns true for a key that is clearly not random: a repeated part (`change-me-change-me-`), runs such as `aaaa`,
 * `abcd` and `9876`, or few distinct characters. Does not detect dictionary words.
 */
function isGuessable(key: string): boolean {
  return repeats(key) || charactersOutsideRuns(key).size < MIN_DISTINCT_CHARACTERS;
}

/** Returns true if the key is a repeated part; the last repetition may be cut off. */
function repeats(key: string): boolean {
  for (let period = 1; period <= key.length / 2; period += 1) {
    if (key.startsWith(key.slice(period))) return true;
  }
  return false;
}

/** Returns the characters that do not continue the step between the two characters before them. */
function charactersOutsideRuns(key: string): ReadonlySet<string> {
  const at = (index: number): number => key.charCodeAt(index);
  const continuesRun = (index: number): boolean =>
    index >= 2 && at(index) - at(index - 1) === at(index - 1) - at(index - 2);
  return new Set(key.split("").filter((_, index) => !continuesRun(index)));
}
