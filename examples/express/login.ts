// A demo login with a list of users and a signed cookie. Replace it with your own.

import { createHmac, scrypt, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

const { SESSION_SECRET = "", USERS_FILE = `${import.meta.dirname}/users.json` } = process.env;
if (SESSION_SECRET.length < 32) {
  throw new Error("Set SESSION_SECRET to 32 or more random characters: openssl rand -base64 32");
}

interface User {
  readonly salt: string;
  readonly hash: string;
  /** True for users whose password is published. */
  readonly demo?: boolean;
}

const USERS = JSON.parse(readFileSync(USERS_FILE, "utf8")) as Record<string, User>;
/** Stands in for unknown users, so that response times do not reveal which users exist. */
const NOBODY: User = { salt: "00", hash: "00".repeat(32) };

export const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
const hashOf = promisify<string, Buffer, number, Buffer>(scrypt);

export async function isPassword(user: string, password: string): Promise<boolean> {
  const { salt, hash } = Object.hasOwn(USERS, user) ? (USERS[user] ?? NOBODY) : NOBODY;
  const given = await hashOf(password, Buffer.from(salt, "hex"), 32);
  return timingSafeEqual(given, Buffer.from(hash, "hex"));
}

/** Returns true for a demo user in production, or on an address that other machines can reach. */
export function isRefusedDemo(user: string, host: string): boolean {
  const isPublic =
    process.env["NODE_ENV"] === "production" || !["127.0.0.1", "::1", "localhost"].includes(host);
  return isPublic && USERS[user]?.demo === true;
}

/** Returns the value of the login cookie: user, expiry and signature. */
export function loginFor(user: string): string {
  const claim = `${Buffer.from(user).toString("base64url")}.${Date.now() + WEEK_MS}`;
  return `${claim}.${signatureOf(claim)}`;
}

/** Returns the user of a valid login cookie, otherwise `null`. */
export function userOf(cookies = ""): string | null {
  const [, user = "", expires = "", signature = ""] =
    /(?:^|; )login=([\w-]+)\.(\d+)\.([\w-]+)(?:;|$)/.exec(cookies) ?? [];
  const [sent, right] = [Buffer.from(signature), Buffer.from(signatureOf(`${user}.${expires}`))];
  if (sent.length !== right.length || !timingSafeEqual(sent, right)) return null;
  return Number(expires) > Date.now() ? Buffer.from(user, "base64url").toString() : null;
}

function signatureOf(claim: string): string {
  return createHmac("sha256", SESSION_SECRET).update(claim).digest("base64url");
}
