// A demo login with a list of users and a signed cookie. Replace it with your own.

import { createHmac, scrypt, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

const users = JSON.parse(readFileSync(process.env.USERS_FILE ?? "users.json", "utf8"));
/** Stands in for unknown users, so that response times do not reveal which users exist. */
const NOBODY = { salt: "00", hash: "00".repeat(32) };

export const WEEK_SECONDS = 7 * 24 * 60 * 60;
const hashOf = promisify(scrypt);

export async function isPassword(user, password) {
  const { salt, hash } = Object.hasOwn(users, user) ? users[user] : NOBODY;
  const given = await hashOf(password, Buffer.from(salt, "hex"), 32);
  return timingSafeEqual(given, Buffer.from(hash, "hex"));
}

/** Returns true for a demo user in production, or on an address that other machines can reach. */
export function isRefusedDemo(user) {
  return (process.env.NODE_ENV === "production" || isReachable()) && users[user].demo === true;
}

/**
 * Returns true if this process listens on an address other than loopback. Next.js does not expose the
 * address.
 */
function isReachable() {
  // Skip DNS lookups.
  process.report.excludeNetwork = true;
  return process.report
    .getReport()
    .libuv.filter(({ type, remoteEndpoint }) => type === "tcp" && remoteEndpoint === null)
    .some(({ localEndpoint }) => localEndpoint?.ip4 !== "127.0.0.1" && localEndpoint?.ip6 !== "::1");
}

/** Returns the value of the login cookie: user, expiry and signature. */
export function loginFor(user) {
  const claim = `${Buffer.from(user).toString("base64url")}.${Date.now() + WEEK_SECONDS * 1000}`;
  return `${claim}.${signatureOf(claim)}`;
}

/** Returns the user of a valid login cookie, otherwise `null`. */
export function userOf(login = "") {
  const [, user = "", expires = "", signature = ""] = /^([\w-]+)\.(\d+)\.([\w-]+)$/.exec(login) ?? [];
  const [sent, right] = [Buffer.from(signature), Buffer.from(signatureOf(`${user}.${expires}`))];
  if (sent.length !== right.length || !timingSafeEqual(sent, right)) return null;
  return Number(expires) > Date.now() ? Buffer.from(user, "base64url").toString() : null;
}

function signatureOf(claim) {
  const { SESSION_SECRET = "" } = process.env;
  if (SESSION_SECRET.length < 32) {
    throw new Error("Set SESSION_SECRET to 32 or more random characters: openssl rand -base64 32");
  }
  return createHmac("sha256", SESSION_SECRET).update(claim).digest("base64url");
}
