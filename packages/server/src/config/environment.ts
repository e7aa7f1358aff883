// The environment, variable by variable (contract section 7). An empty variable counts as one that is not set.

import { isIP } from "node:net";
import { resolve } from "node:path";
import { LOG_LEVELS, type LogLevel, type ServerConfig } from "./config.ts";
import { Hidden } from "../core/hidden.ts";
import { isLoopbackName } from "../core/loopback.ts";
import { parseMasterKeys } from "../core/master-key.ts";
import { nearestName, suggestion } from "./nearest-name.ts";
import type { ConfigProblem } from "./problem.ts";
import { parseDatabaseUrl, parseNatsUrl } from "./server-urls.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Every variable of Colloquy's own. `example.env` explains each. */
export const VARIABLES: readonly string[] = [
  "PORT",
  "HOST",
  "COLLOQUY_DATA_DIR",
  "COLLOQUY_CONFIG",
  "COLLOQUY_ALLOWED_HOSTS",
  "COLLOQUY_TRUSTED_PROXIES",
  "COLLOQUY_LOG_LEVEL",
  "COLLOQUY_DATABASE_URL",
  "COLLOQUY_NATS_URL",
  "COLLOQUY_ADMIN_KEY",
  "COLLOQUY_SECRET_KEY",
  "COLLOQUY_APP_KEY",
];

const NATS_ALONE =
  "is of use only between nodes on one database, and without COLLOQUY_DATABASE_URL there is one node, with its data in SQLite. " +
  "Set COLLOQUY_DATABASE_URL too, or unset this variable.";

export type EnvironmentSettings = Omit<ServerConfig, "corsOrigins" | "walletListing">;

export interface EnvironmentReading {
  readonly settings: EnvironmentSettings;
  /** `COLLOQUY_CONFIG` as an absolute path, `null` when it is not set. */
  readonly configPath: string | null;
  readonly secretKey: Hidden<string> | null;
  readonly databaseUrl: Hidden<string> | null;
  readonly natsUrl: Hidden<string> | null;
  readonly adminKey: Hidden<string> | null;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

/** Reads the environment. Where a variable is wrong, a problem says so and its default stands in. */
export function readEnvironment(environment: Environment, workingDirectory: string): EnvironmentReading {
  const problems: ConfigProblem[] = [];
  const read = <Value>(name: string, fallback: Value, parse: (text: string) => Parsed<Value>): Value => {
    const text = environment[name]?.trim() ?? "";
    if (text === "") return fallback;
    const parsed = parse(text);
    if ("value" in parsed) return parsed.value;
    problems.push({ source: "environment", place: name, message: parsed.problem });
    return fallback;
  };
  const path = (text: string): Parsed<string> => ({ value: resolve(workingDirectory, text) });

  const host = read("HOST", "127.0.0.1", parseHost);
  const settings: EnvironmentSettings = {
    port: read("PORT", 8080, parsePort),
    host,
    loopback: isLoopbackName(host),
    dataDirectory: read("COLLOQUY_DATA_DIR", resolve(workingDirectory, "data"), path),
    allowedHosts: read<readonly string[]>("COLLOQUY_ALLOWED_HOSTS", [], (text) =>
      parseList(text, parseAllowedHost),
    ),
    trustedProxies: read<readonly string[]>("COLLOQUY_TRUSTED_PROXIES", [], (text) =>
      parseList(text, parseProxy),
    ),
    logLevel: read<LogLevel>("COLLOQUY_LOG_LEVEL", "info", parseLogLevel),
  };
  const isSet = (name: string): boolean => (environment[name]?.trim() ?? "") !== "";
  return {
    settings,
    configPath: read<string | null>("COLLOQUY_CONFIG", null, path),
    secretKey: read<Hidden<string> | null>("COLLOQUY_SECRET_KEY", null, parseSecretKey),
    databaseUrl: read<Hidden<string> | null>("COLLOQUY_DATABASE_URL", null, parseDatabaseUrl),
    natsUrl: read<Hidden<string> | null>("COLLOQUY_NATS_URL", null, (text) =>
      isSet("COLLOQUY_DATABASE_URL") ? parseNatsUrl(text) : { problem: NATS_ALONE },
    ),
    adminKey: read<Hidden<string> | null>("COLLOQUY_ADMIN_KEY", null, parseAdminKey),
    problems,
    warnings: warnings(settings),
  };
}

/** Warnings about `COLLOQUY_` names that nothing reads. `named` are variables that the configuration file asks for. */
export function unknownVariables(environment: Environment, named: ReadonlySet<string>): readonly string[] {
  const known = VARIABLES;
  return Object.keys(environment)
    .filter((name) => name.startsWith("COLLOQUY_") && !known.includes(name) && !named.has(name))
    .toSorted()
    .map((name) => {
      const nearest = nearestName(name.slice("COLLOQUY_".length), known.map(withoutPrefix));
      const meant = known.find((other) => withoutPrefix(other) === nearest);
      return `${name} is set, but nothing reads it.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
    });
}

/** What a variable's text comes to, or a sentence about what is wrong with it. */
type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

function parseSecretKey(text: string): Parsed<Hidden<string>> {
  const parsed = parseMasterKeys(text);
  return "problem" in parsed ? parsed : { value: new Hidden(text) };
}

/** As it can stand behind `Bearer` in a header, and not short enough to be guessed. */
function parseAdminKey(text: string): Parsed<Hidden<string>> {
  if (/^[\x21-\x7e]{16,512}$/.test(text)) return { value: new Hidden(text) };
  return {
    problem:
      "must be 16 to 512 printable ASCII characters without spaces. Make one with openssl rand -base64 32.",
  };
}

function warnings(settings: EnvironmentSettings): readonly string[] {
  const { allowedHosts, loopback, trustedProxies } = settings;
  if (allowedHosts.length === 0) return [];
  if (!loopback) return ["COLLOQUY_ALLOWED_HOSTS has no effect, because HOST is not a loopback address."];
  if (trustedProxies.length > 0 || allowedHosts.every(isLoopbackName)) return [];
  return [
    "COLLOQUY_ALLOWED_HOSTS is set and COLLOQUY_TRUSTED_PROXIES is not, so whoever comes through a proxy on this machine is taken for " +
      "somebody at this machine: nothing limits requests, or how many admin keys are tried. Name the proxy, 127.0.0.1 where it asks there.",
  ];
}

function withoutPrefix(name: string): string {
  return name.replace(/^COLLOQUY_/, "");
}

function parsePort(text: string): Parsed<number> {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return { value: port };
  return { problem: `must be a number from 0 to 65535 (0 takes a free port), not "${shown(text)}".` };
}

function parseHost(text: string): Parsed<string> {
  const host = text.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0 || isHostName(host)) return { value: host.toLowerCase() };
  return {
    problem: `must be a host name or an IP address to bind to, without scheme or port, such as 127.0.0.1 or 0.0.0.0, not "${shown(text)}".`,
  };
}

/** The name alone: a `Host` header may have any port. */
function parseAllowedHost(text: string): Parsed<string> {
  const [, name = "", port = "0"] =
    /^(.*?)(?::(\d{1,5}))?$/.exec(isIP(text) === 6 ? `[${text}]` : text) ?? [];
  const host = name.replace(/^\[(.*)\]$/, "$1");
  if ((isIP(host) !== 0 || isHostName(host)) && Number(port) <= 65_535) return { value: host.toLowerCase() };
  return {
    problem: `"${shown(text)}" is no host name. List names as they stand in a URL, without scheme and path, separated by commas: chat.example.test,127.0.0.2.`,
  };
}

function parseProxy(text: string): Parsed<string> {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  const widest = version === 4 ? 32 : 128;
  const bitsFit = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest);
  if (version !== 0 && bitsFit && rest.length === 0) return { value: text.toLowerCase() };
  return {
    problem: `"${shown(text)}" is no IP address or CIDR range. List the proxies in front of this server, separated by commas: 10.0.0.0/8,192.0.2.7.`,
  };
}

function parseLogLevel(text: string): Parsed<LogLevel> {
  const level = LOG_LEVELS.find((known) => known === text.toLowerCase());
  if (level !== undefined) return { value: level };
  return { problem: `"${shown(text)}" is no log level.${suggestion(text, LOG_LEVELS)}` };
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
  // The last label of a name is never all digits: what looks like 1.2.3 is an address with something missing.
  return (
    text.length <= 253 &&
    /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i.test(text) &&
    !/(^|\.)\d+\.?$/.test(text)
  );
}

function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
