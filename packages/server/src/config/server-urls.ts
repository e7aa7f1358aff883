// Addresses of the servers that the nodes of a cluster have in common. What is wrong with one is said without it, because it may have a
// password in it.

import { Hidden } from "../core/hidden.ts";

type Reading = { readonly value: Hidden<string> } | { readonly problem: string };

/** An address as PostgreSQL's own clients take it. */
export function parseDatabaseUrl(text: string): Reading {
  const protocol = URL.parse(text)?.protocol;
  if (protocol === "postgres:" || protocol === "postgresql:") return { value: new Hidden(text) };
  return {
    problem:
      "must be the address of a PostgreSQL database, such as postgres://user:password@db.example.test:5432/colloquy, " +
      "with what is special in a URL written as % and two digits in name and password.",
  };
}

/** One or more addresses of the servers of one NATS cluster. */
export function parseNatsUrl(text: string): Reading {
  const parts = text.split(",").map((part) => part.trim());
  const urls = parts.map((part) => URL.parse(part));
  const schemes = new Set(urls.map((url) => url?.protocol));
  const isOneScheme = schemes.size === 1 && (schemes.has("nats:") || schemes.has("tls:"));
  const isWhole = urls.every(
    (url) => url !== null && url.hostname !== "" && ["", "/"].includes(url.pathname),
  );
  if (isOneScheme && isWhole) return { value: new Hidden(parts.join(",")) };
  return {
    problem:
      "must be the address of a NATS server, such as nats://user:password@nats.example.test:4222, or several with commas " +
      "between them, all with nats:// or all with tls:// (for a connection that is encrypted), without a path.",
  };
}
