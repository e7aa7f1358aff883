// What the App `office` allows: its tools, and who decides their calls (contract section 3, "Approvers").

import type { Random } from "./harness/random.ts";

type Role = "manager" | "director";

interface OfficeTool {
  /** Role of its approvers. */
  readonly role: Role;
  /** Whether the user who asks may decide too. */
  readonly owner: "may" | "may_not";
  readonly expiresAfter: string;
}

export const OFFICE_TOOLS = {
  office_refund: { role: "manager", owner: "may_not", expiresAfter: "1d" },
  office_payout: { role: "director", owner: "may", expiresAfter: "1d" },
  /** Some of these expire. */
  office_loan: { role: "manager", owner: "may_not", expiresAfter: "1m" },
} as const satisfies Record<string, OfficeTool>;

export type OfficeToolName = keyof typeof OFFICE_TOOLS;

/** Milliseconds after which an undecided `office_loan` is denied. */
export const LOAN_MS = 60_000;

/** Share of the tools among the calls. */
const LOANS = 0.1;
const PAYOUTS = 0.4;

export interface OfficeUser {
  readonly name: string;
  readonly roles: readonly Role[];
  /** Whether the user has conversations. */
  readonly asks: boolean;
  /** Header `authorization`. */
  readonly authorization: string;
}

/** The request of a message to the office. */
export interface OfficeRequest {
  readonly tool: OfficeToolName;
  /** Unique within the run. */
  readonly request: number;
}

/** Returns a message that makes the demo model call one of the tools. */
export function officeMessage(random: Random, request: number): string {
  const tool = random.chance(LOANS)
    ? "office_loan"
    : random.chance(PAYOUTS)
      ? "office_payout"
      : "office_refund";
  return `call ${tool} ${JSON.stringify({ request })}`;
}

/** Returns the request of a message; `null` for other messages. */
export function requestIn(message: string): OfficeRequest | null {
  const [, tool = "", request] = /^call (\w+) \{"request":(\d+)\}$/.exec(message) ?? [];
  return isOfficeTool(tool) ? { tool, request: Number(request) } : null;
}

export function isOfficeTool(name: string): name is OfficeToolName {
  return Object.hasOwn(OFFICE_TOOLS, name);
}

/** Returns true if the user may decide such a request of another user, or of their own. */
export function mayDecide(
  user: Pick<OfficeUser, "name" | "roles">,
  tool: OfficeToolName,
  requester: string,
): boolean {
  const { role, owner } = OFFICE_TOOLS[tool];
  return user.roles.includes(role) && (owner === "may" || user.name !== requester);
}
