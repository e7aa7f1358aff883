// The App `office` of the servers of a run, whose users need approvers: its configuration, users, and the effects of its calls.

import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT, type JWK } from "jose";
import { ApprovalLedger } from "./approval-ledger.ts";
import { OFFICE_TOOLS, type OfficeUser } from "./office-rules.ts";
import type { Violations } from "./violations.ts";

/** The plugin with the tools. */
export const OFFICE_PLUGIN = join(import.meta.dirname, "office-tools.ts");

const ISSUER = "https://office.test";
const AUDIENCE = "office";
const VALID_SECONDS = 7 * 86_400;

const USERS = [
  { name: "Mia", roles: ["manager"], asks: false },
  { name: "Max", roles: ["manager", "director"], asks: false },
  { name: "Dora", roles: ["director"], asks: false },
  { name: "Ada", roles: ["manager", "director"], asks: true },
  { name: "Eve", roles: ["manager"], asks: true },
  { name: "Bob", roles: [], asks: true },
  { name: "Cleo", roles: [], asks: true },
] as const satisfies readonly Omit<OfficeUser, "authorization">[];

export class Office {
  readonly ledger: ApprovalLedger;
  readonly users: readonly OfficeUser[];
  /** Header `authorization` of an approver, signed with another key. */
  readonly forged: string;
  readonly #publicKey: JWK;
  readonly #effects: string;

  private constructor(
    ledger: ApprovalLedger,
    users: readonly OfficeUser[],
    forged: string,
    publicKey: JWK,
    effects: string,
  ) {
    this.ledger = ledger;
    this.users = users;
    this.forged = forged;
    this.#publicKey = publicKey;
    this.#effects = effects;
  }

  /** `directory` gets the file of the calls' effects. */
  static async open(directory: string, violations: Violations): Promise<Office> {
    const effects = join(directory, "effects.txt");
    writeFileSync(effects, "");
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const { privateKey: other } = await generateKeyPair("ES256");
    const users = await Promise.all(
      USERS.map(async (user) => ({ ...user, authorization: await bearerOf(user, privateKey) })),
    );
    const key = { ...(await exportJWK(publicKey)), kid: "office" };
    return new Office(new ApprovalLedger(violations), users, await bearerOf(USERS[0], other), key, effects);
  }

  /** Section of the App in the configuration. */
  get app(): object {
    return {
      models: ["demo/assistant"],
      users: { issuer: ISSUER, audience: AUDIENCE, required: true, keys: [this.#publicKey] },
      office: { effects: this.#effects },
      approvals: Object.fromEntries(
        Object.entries(OFFICE_TOOLS).map(([name, { role, owner, expiresAfter }]) => [
          name,
          { when: "always", expiresAfter, owner, approvers: { claim: "office.roles", values: [role] } },
        ]),
      ),
    };
  }

  get approvers(): readonly OfficeUser[] {
    return this.users.filter(({ roles }) => roles.length > 0);
  }

  get requesters(): readonly OfficeUser[] {
    return this.users.filter(({ asks }) => asks);
  }

  userNamed(name: string): OfficeUser {
    const user = this.users.find((one) => one.name === name);
    if (user === undefined) throw new Error(`The office has no ${name}`);
    return user;
  }

  /** Returns how often the call of each request has run. */
  effects(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const line of readFileSync(this.#effects, "utf8").split("\n")) {
      if (line !== "") counts.set(Number(line), (counts.get(Number(line)) ?? 0) + 1);
    }
    return counts;
  }
}

async function bearerOf(
  { name, roles }: Pick<OfficeUser, "name" | "roles">,
  key: CryptoKey,
): Promise<string> {
  const seconds = Math.floor(Date.now() / 1000);
  const token = await new SignJWT({ name, office: { roles }, jti: randomUUID() })
    .setProtectedHeader({ alg: "ES256", kid: "office" })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(name.toLowerCase())
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + VALID_SECONDS)
    .sign(key);
  return `Bearer ${token}`;
}
