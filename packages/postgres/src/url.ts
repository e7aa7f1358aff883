// Validates database URLs. Messages never quote a URL, because it may contain a password.

import { decodePercent } from "@colloquy/engine/internal/core/json";
import { isRemoteHost } from "@colloquy/engine/internal/core/loopback";
import { suggestion } from "@colloquy/engine/internal/core/nearest-name";

/** URL parameters that the PostgreSQL driver supports. It silently ignores all others. */
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

/** Parameters that hosting providers add to their URLs, and that the driver may safely ignore. */
const IGNORED: ReadonlySet<string> = new Set(["channel_binding", "connect_timeout", "target_session_attrs"]);

/** Returns an error message without a full stop; `null` if `text` is a valid PostgreSQL connection URL. */
export function urlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url?.protocol === "postgres:" || url?.protocol === "postgresql:") {
    const unknown = [...url.searchParams.keys()].find(
      (name) => !PARAMETERS.includes(name) && !IGNORED.has(name),
    );
    return unknown === undefined ? null : explainParameter(unknown);
  }
  return (
    "must be the URL of a PostgreSQL database, such as postgres://user:password@db.example.test:5432/colloquy. " +
    "Percent-encode special characters in the user name and password"
  );
}

function explainParameter(name: string): string {
  if (name === "schema") {
    return (
      "has the parameter schema, which PostgreSQL's own clients do not know: the tables would be in the default schema. " +
      "Remove it, and give Colloquy a database of its own"
    );
  }
  return `has the parameter ${name}, which would be ignored. Remove it, or correct its name.${suggestion(name, PARAMETERS)}`.replace(
    /\.$/,
    "",
  );
}

/** Values of `sslmode` for which the PostgreSQL driver uses TLS. */
const ENCRYPTING: ReadonlySet<string> = new Set([
  "prefer",
  "require",
  "verify-ca",
  "verify-full",
  "no-verify",
]);

/**
 * Returns true if the URL connects to a remote host without TLS. `sslMode`, the value of `PGSSLMODE`, is the
 * default for a URL without `sslmode`.
 */
export function isPlainText(text: string, sslMode: string): boolean {
  const { hostname, searchParams } = new URL(text);
  if (!isRemoteHost(searchParams.get("host") ?? decodePercent(hostname))) return false;
  if (["true", "1"].includes(searchParams.get("ssl") ?? "")) return false;
  const mode = searchParams.get("sslmode") ?? (searchParams.has("sslrootcert") ? "verify-full" : sslMode);
  return !ENCRYPTING.has(mode);
}
