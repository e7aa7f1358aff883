// URLs of the servers that the nodes of a cluster share. Problems never quote a URL, because it may contain a password.

import { Hidden } from "../core/hidden.ts";
import { isLoopbackName } from "../core/loopback.ts";
import { suggestion } from "./nearest-name.ts";

/** URL parameters that the PostgreSQL driver reads. It ignores all others without a word. */
const PARAMETERS: readonly string[] = [
  "application_name",
  "client_encoding",
  "fallback_application_name",
  "host",
  "idle_in_transaction_session_timeout",
  "lock_timeout",
  "options",
  "password",
  "port",
  "query_timeout",
  "ssl",
  "sslcert",
  "sslkey",
  "sslmode",
  "sslnegotiation",
  "sslrootcert",
  "statement_timeout",
  "uselibpqcompat",
  "user",
];

/** Parameters that providers put into their URLs, and that change nothing here. */
const IGNORED: ReadonlySet<string> = new Set(["channel_binding", "connect_timeout", "target_session_attrs"]);

type Reading = { readonly value: Hidden<string> } | { readonly problem: string };

/** Parses a URL in the format of PostgreSQL's own clients. */
export function parseDatabaseUrl(text: string): Reading {
  const url = URL.parse(text);
  if (url?.protocol === "postgres:" || url?.protocol === "postgresql:") {
    const unknown = [...url.searchParams.keys()].find(
      (name) => !PARAMETERS.includes(name) && !IGNORED.has(name),
    );
    return unknown === undefined ? { value: new Hidden(text) } : { problem: explainParameter(unknown) };
  }
  return {
    problem:
      "must be the URL of a PostgreSQL database, such as postgres://user:password@db.example.test:5432/colloquy. " +
      "Percent-encode special characters in the user name and password.",
  };
}

function explainParameter(name: string): string {
  if (name === "schema") {
    return (
      "has the parameter schema, which PostgreSQL's own clients do not know: the tables would be in the default schema. " +
      "Remove it, and give Colloquy a database of its own."
    );
  }
  return `has the parameter ${name}, which would be ignored. Remove it, or correct its name.${suggestion(name, PARAMETERS)}`;
}

/** `sslmode` values with which the PostgreSQL driver encrypts. */
const ENCRYPTING: ReadonlySet<string> = new Set([
  "prefer",
  "require",
  "verify-ca",
  "verify-full",
  "no-verify",
]);

/** Warns of unencrypted connections to servers on other machines. `sslMode` is `PGSSLMODE`. */
export function plainTextWarnings(
  { databaseUrl, natsUrl }: Readonly<Record<"databaseUrl" | "natsUrl", Hidden<string> | null>>,
  sslMode: string,
): readonly string[] {
  const database = URL.parse(databaseUrl?.reveal() ?? "");
  const nats = (natsUrl?.reveal() ?? "").split(",").map((part) => URL.parse(part));
  const isPlain = nats.some((url) => url?.protocol === "nats:" && isRemote(url.hostname));
  return [
    ...(database !== null && isPlainText(database, sslMode)
      ? [
          "COLLOQUY_DATABASE_URL names another machine, and the connection is not encrypted: it carries conversations and, " +
            "with some authentication methods, the password. Add ?sslmode=verify-full to the URL (docs/security.md).",
        ]
      : []),
    ...(isPlain
      ? [
          "COLLOQUY_NATS_URL names another machine, and the connection is not encrypted: it carries conversations, password " +
            "and token. Use tls:// instead of nats:// (docs/security.md).",
        ]
      : []),
  ];
}

function isPlainText({ hostname, searchParams }: URL, sslMode: string): boolean {
  if (!isRemote(searchParams.get("host") ?? hostname)) return false;
  if (["true", "1"].includes(searchParams.get("ssl") ?? "")) return false;
  const mode = searchParams.get("sslmode") ?? (searchParams.has("sslrootcert") ? "verify-full" : sslMode);
  return !ENCRYPTING.has(mode);
}

/** A path is a local socket, and an empty host is this machine too. */
function isRemote(host: string): boolean {
  const name = decodeURIComponent(host).replace(/^\[(.*)\]$/, "$1");
  return name !== "" && !name.startsWith("/") && !isLoopbackName(name.toLowerCase());
}

/** Parses one or more comma-separated URLs of a NATS cluster. */
export function parseNatsUrl(text: string): Reading {
  const parts = text.split(",").map((part) => part.trim());
  const urls = parts.map((part) => URL.parse(part));
  const schemes = new Set(urls.map((url) => url?.protocol));
  const isOneScheme = schemes.size === 1 && (schemes.has("nats:") || schemes.has("tls:"));
  const areComplete = urls.every(
    (url) => url !== null && url.hostname !== "" && ["", "/"].includes(url.pathname),
  );
  if (isOneScheme && areComplete) return { value: new Hidden(parts.join(",")) };
  return {
    problem:
      "must be the URL of a NATS server, such as nats://user:password@nats.example.test:4222, or several separated by " +
      "commas, all with nats:// or all with tls:// (for an encrypted connection), without a path.",
  };
}
