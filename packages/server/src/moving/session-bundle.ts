// A session read from an export, and the check whether its lines form a session that the service can continue.

import type { z } from "zod";
import type { KINDS, Kind } from "./session-format.ts";

export type LineOf<Of extends Kind> = z.infer<(typeof KINDS)[Of]["line"]>;

export interface SessionBundle {
  readonly session: LineOf<"session">;
  /** The lines of each other kind, in file order. */
  readonly lines: ReadonlyMap<Kind, readonly object[]>;
}

export function linesOf<Of extends Kind>({ lines }: SessionBundle, kind: Of): readonly LineOf<Of>[] {
  return (lines.get(kind) ?? []) as readonly LineOf<Of>[];
}

/** Turns that have not ended, in their order. */
export function openTurns(bundle: SessionBundle): readonly LineOf<"turn">[] {
  return linesOf(bundle, "turn")
    .filter(({ ended_at }) => ended_at === null)
    .toSorted((left, right) => left.number - right.number);
}

/** Returns what is wrong with the session as a whole; `null` if it is valid. */
export function problemOf(bundle: SessionBundle): string | null {
  return (
    doubleProblem(bundle) ??
    numberedProblem(bundle) ??
    messageProblem(bundle) ??
    turnProblem(bundle) ??
    openTurnProblem(bundle) ??
    referenceProblem(bundle)
  );
}

/** What makes a line of its kind another one than the rest. */
const IDENTITIES: { readonly [Of in Kind]?: readonly (readonly (keyof LineOf<Of>)[])[] } = {
  step: [["turn", "number"]],
  checkpoint: [["turn", "offset"]],
  system_event: [["number"]],
  action: [["number"], ["id"]],
  idempotency_key: [["key"]],
  title_job: [["kind"]],
};

function doubleProblem({ lines }: SessionBundle): string | null {
  for (const [kind, identities] of Object.entries(IDENTITIES)) {
    for (const names of identities) {
      const seen = new Set<string>();
      for (const line of lines.get(kind as Kind) ?? []) {
        const identity = names.map((name) => String(Reflect.get(line, name))).join(", ");
        if (seen.has(identity))
          return `it has two lines of kind ${kind} with the same ${names.join(" and ")}`;
        seen.add(identity);
      }
    }
  }
  return null;
}

function numberedProblem(bundle: SessionBundle): string | null {
  const { message_count, turn_count } = bundle.session;
  const positions = linesOf(bundle, "message").map(({ position }) => position);
  if (!counts(positions, message_count)) {
    return `its messages are not numbered 1 to ${message_count}, as message_count says`;
  }
  const numbers = linesOf(bundle, "turn").map(({ number }) => number);
  return counts(numbers, turn_count)
    ? null
    : `its turns are not numbered 1 to ${turn_count}, as turn_count says`;
}

function messageProblem(bundle: SessionBundle): string | null {
  const { turn_count } = bundle.session;
  const lost = linesOf(bundle, "message").find(({ turn }) => turn > turn_count);
  return lost === undefined
    ? null
    : `message ${lost.position} belongs to turn ${lost.turn}, which is not there`;
}

function turnProblem(bundle: SessionBundle): string | null {
  const roles = new Map(
    linesOf(bundle, "message").map(({ position, role, turn }) => [position, { role, turn }]),
  );
  for (const { number, state, user_position, agent_position, ended_at } of linesOf(bundle, "turn")) {
    const [user, agent] = [roles.get(user_position), roles.get(agent_position ?? 0)];
    if (user?.role !== "user" || user.turn !== number) return `turn ${number} has no user message`;
    if (agent_position !== null && (agent?.role !== "assistant" || agent.turn !== number)) {
      return `turn ${number} has no agent message at position ${agent_position}`;
    }
    const isOpen = state === "queued" || state === "running" || state === "waiting";
    if (isOpen !== (ended_at === null)) return `turn ${number} is ${state}, and its ended_at says otherwise`;
    if ((state === "running" || state === "waiting") && agent_position === null) {
      return `turn ${number} is ${state} without an agent message`;
    }
  }
  return null;
}

function openTurnProblem(bundle: SessionBundle): string | null {
  const [first, ...others] = openTurns(bundle);
  if ((bundle.session.status === "processing") !== (first !== undefined)) {
    return `its status is ${bundle.session.status}, and its turns say otherwise`;
  }
  const second = others.find(({ state }) => state !== "queued");
  return second === undefined ? null : `turn ${second.number} is ${second.state} behind another open turn`;
}

function referenceProblem(bundle: SessionBundle): string | null {
  const { id, spelling, head, turn_count } = bundle.session;
  if (spelling !== null && spelling.toLowerCase() !== id)
    return `it is spelled ${spelling}, which is another id`;
  for (const kind of ["step", "checkpoint", "action", "idempotency_key"] as const) {
    const lost = linesOf(bundle, kind).find(({ turn }) => turn > turn_count);
    if (lost !== undefined) return `a line of kind ${kind} names turn ${lost.turn}, which is not there`;
  }
  const beyond = [...linesOf(bundle, "system_event"), ...linesOf(bundle, "action")].find(
    ({ number }) => number > head,
  );
  if (beyond !== undefined) return `a ${beyond.kind} has number ${beyond.number}, beyond the head ${head}`;
  const open = new Set(openTurns(bundle).map(({ number }) => number));
  const lost = linesOf(bundle, "action").find(({ status, turn }) => status === "pending" && !open.has(turn));
  return lost === undefined ? null : `the action ${lost.id} is pending, but its turn has ended`;
}

/** Returns true if these are the numbers from 1 to `count`, each once. */
function counts(numbers: readonly number[], count: number): boolean {
  const found = new Set(numbers);
  return numbers.length === count && found.size === count && numbers.every((number) => number <= count);
}
