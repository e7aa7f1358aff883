// Groups the lines of an export into sessions. An invalid line rejects its session but no other.

import { z } from "zod";
import { isCleanText } from "@colloquy/engine/internal/core/json";
import { EndLine, FORMAT, FORMAT_VERSION, Header, type Kind, KINDS } from "./session-format.ts";

/** A session, or the reason why it cannot be imported. `id` is `null` if the line with the id is invalid. */
export type ReadSession =
  | { readonly id: string; readonly line: number; readonly bundle: SessionBundle }
  | { readonly id: string | null; readonly line: number; readonly problem: string };

interface Collected {
  readonly session: LineOf<"session">;
  /** Number of the session's first line; the first of a file is 1. */
  readonly firstLine: number;
  readonly lines: Map<Kind, object[]>;
  count: number;
}

type Parsed = { readonly value: Readonly<Record<string, unknown>> } | { readonly problem: string };

/** Stores the bytes of a file. Returns their name in the file store, or why they cannot be stored. */
export type KeepFile = (
  file: LineOf<"file"> & { readonly content: string },
) => Promise<{ readonly blob: string } | { readonly problem: string }>;

/**
 * Throws a user-facing message if the first line is not that of an export that this version can read. Bytes
 * of files are passed to `keepFile` as they are read, because those of a session may not fit into memory.
 */
export async function* readSessions(
  lines: AsyncIterable<string>,
  keepFile: KeepFile,
): AsyncGenerator<ReadSession, undefined> {
  let number = 0;
  let current: Collected | null = null;
  // Skip lines up to the next session: they belong to one that was already refused.
  let isSkipping = false;
  let isDone = false;
  for await (const text of lines) {
    number += 1;
    if (number === 1) {
      readHeader(text);
      continue;
    }
    if (text.trim() === "") continue;
    const parsed = parse(text);
    const kind = "value" in parsed ? parsed.value["kind"] : null;
    if (kind === "session" && current !== null) yield cutOff(current, number);
    if (kind === "session") isSkipping = false;
    if (kind === "done") {
      isDone = true;
      if (current !== null) yield cutOff(current, number);
      current = null;
      continue;
    }
    if (isSkipping) continue;
    const step = await withFile(take(current, parsed, number), kind, number, keepFile);
    current = "collected" in step ? step.collected : null;
    isSkipping = "problem" in step;
    if (!("collected" in step)) yield step;
  }
  if (current !== null) yield cutOff(current, number + 1);
  if (number > 0 && !isDone) {
    const problem = 'is missing: the export was cut off before its last line, with "kind": "done"';
    yield { id: null, line: number + 1, problem };
  }
  if (number === 0)
    throw new Error("The input is empty. An export starts with a line that states its format.");
  return undefined;
}

/** Replaces the content of a file that was just read by the name of its bytes. */
async function withFile(
  step: ReturnType<typeof take>,
  kind: unknown,
  line: number,
  keepFile: KeepFile,
): Promise<typeof step> {
  if (kind !== "file" || !("collected" in step)) return step;
  const { session, lines } = step.collected;
  const stored = lines.get("file")?.pop() as LineOf<"file"> | undefined;
  if (stored === undefined || stored.content === null) return step;
  const { content, ...file } = stored;
  const kept = await keepFile({ ...file, content });
  if ("problem" in kept) return { id: session.id, line, problem: kept.problem };
  lines.get("file")?.push({ ...file, ...kept });
  return step;
}

function readHeader(text: string): void {
  const parsed = parse(text);
  const header = Header.safeParse("value" in parsed ? parsed.value : null);
  if (!header.success) {
    throw new Error(
      `Line 1 is not the first line of an export: it needs "format": "${FORMAT}" and a version.`,
    );
  }
  if (header.data.version !== FORMAT_VERSION) {
    throw new Error(
      `Line 1: the export has version ${header.data.version} of the format, and this Colloquy reads version ${FORMAT_VERSION}.`,
    );
  }
}

/** Adds a line to the current session, or returns the complete or refused session. */
function take(
  current: Collected | null,
  parsed: Parsed,
  line: number,
): { readonly collected: Collected } | ReadSession {
  const refused = (problem: string): ReadSession => ({ id: current?.session.id ?? null, line, problem });
  if ("problem" in parsed) return refused(parsed.problem);
  const { value } = parsed;
  const kind = String(value["kind"]);
  if (current === null && kind !== "session") return refused('must begin a session, with "kind": "session"');
  if (current !== null && kind === "end") return end(current, value, line);
  if (!isKind(kind)) return refused(`has the unknown kind "${kind}"`);
  const checked = KINDS[kind].line.safeParse(value);
  if (!checked.success) return refused(explain(checked.error));
  // Keeps the original input, because JSON columns keep the order of their names; `data` adds columns that
  // older exports lack.
  const row = { ...checked.data, ...value };
  if (current === null) {
    const session = row as LineOf<"session">;
    return { collected: { session, firstLine: line, lines: new Map(), count: 1 } };
  }
  const ofKind = current.lines.get(kind) ?? [];
  ofKind.push(row);
  current.lines.set(kind, ofKind);
  current.count += 1;
  return { collected: current };
}

function end({ session, firstLine, lines, count }: Collected, value: object, line: number): ReadSession {
  const { id } = session;
  const checked = EndLine.safeParse(value);
  if (!checked.success) return { id, line, problem: explain(checked.error) };
  if (checked.data.id !== id)
    return { id, line, problem: `ends the session ${checked.data.id}, and not ${id}` };
  if (checked.data.lines !== count) {
    return { id, line, problem: `ends a session of ${checked.data.lines} lines, but there are ${count}` };
  }
  const bundle: SessionBundle = { session, lines };
  const problem = problemOf(bundle);
  return problem === null
    ? { id, line: firstLine, bundle }
    : { id, line, problem: `ends a session that is not whole: ${problem}` };
}

function cutOff({ session }: Collected, line: number): ReadSession {
  return { id: session.id, line, problem: 'comes before the session has ended, with "kind": "end"' };
}

function parse(text: string): Parsed {
  try {
    const value: unknown = JSON.parse(text, (_name, inner: unknown) => {
      if (typeof inner === "string" && !isCleanText(inner)) throw new UncleanText();
      return inner;
    });
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { value: value as Record<string, unknown> } : { problem: "must be a JSON object" };
  } catch (error) {
    if (error instanceof UncleanText)
      return { problem: "has text with NUL or a lone surrogate, which cannot be stored" };
    return { problem: "must be valid JSON" };
  }
}

class UncleanText extends Error {}

function explain(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "" : `${z.core.toDotPath(issue.path)}: `;
  return `${place}${issue?.message ?? "is invalid"}`;
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}

// A session read from an export, and the check that its lines form a valid session.

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

/** Returns the problem of the session as a whole; `null` if it is valid. */
function problemOf(bundle: SessionBundle): string | null {
  return (
    doubleProblem(bundle) ??
    numberedProblem(bundle) ??
    messageProblem(bundle) ??
    turnProblem(bundle) ??
    openTurnProblem(bundle) ??
    referenceProblem(bundle)
  );
}

/** Columns that are unique among the lines of a kind. */
const IDENTITIES: { readonly [Of in Kind]?: readonly (readonly (keyof LineOf<Of>)[])[] } = {
  step: [["turn", "number"]],
  checkpoint: [["turn", "offset"]],
  system_event: [["number"]],
  action: [["number"], ["id"]],
  file: [["id"]],
  idempotency_key: [["key"]],
  title_job: [["kind"]],
  summary_job: [["kind"]],
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
  // An edit removes turns, whose numbers are not used again.
  return numbers.every((number) => number <= turn_count) && new Set(numbers).size === numbers.length
    ? null
    : `its turns are not numbered once each up to ${turn_count}, as turn_count says`;
}

function messageProblem(bundle: SessionBundle): string | null {
  const turns = turnsOf(bundle);
  const lost = linesOf(bundle, "message").find(({ turn }) => !turns.has(turn));
  return lost === undefined
    ? null
    : `message ${lost.position} belongs to turn ${lost.turn}, which does not exist`;
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
    if (isOpen !== (ended_at === null)) return `turn ${number} is ${state}, but its ended_at says otherwise`;
    if ((state === "running" || state === "waiting") && agent_position === null) {
      return `turn ${number} is ${state} without an agent message`;
    }
  }
  return null;
}

function openTurnProblem(bundle: SessionBundle): string | null {
  const [first, ...others] = openTurns(bundle);
  if ((bundle.session.status === "processing") !== (first !== undefined)) {
    return `its status is ${bundle.session.status}, but its turns say otherwise`;
  }
  const second = others.find(({ state }) => state !== "queued");
  return second === undefined ? null : `turn ${second.number} is ${second.state} behind another open turn`;
}

function referenceProblem(bundle: SessionBundle): string | null {
  const { id, spelling, head, turn_count } = bundle.session;
  const turns = turnsOf(bundle);
  if (spelling !== null && spelling.toLowerCase() !== id)
    return `it has the spelling ${spelling} of another id`;
  for (const kind of ["step", "checkpoint", "action", "idempotency_key"] as const) {
    // A key may be of a turn that an edit has removed.
    const isLost = (turn: number): boolean =>
      kind === "idempotency_key" ? turn > turn_count : !turns.has(turn);
    const lost = linesOf(bundle, kind).find(({ turn }) => isLost(turn));
    if (lost !== undefined) return `a line of kind ${kind} names turn ${lost.turn}, which does not exist`;
  }
  const beyond = [...linesOf(bundle, "system_event"), ...linesOf(bundle, "action")].find(
    ({ number }) => number > head,
  );
  if (beyond !== undefined) return `a ${beyond.kind} has number ${beyond.number}, beyond the head ${head}`;
  const gone = linesOf(bundle, "file").find(({ position }) => (position ?? 0) > bundle.session.message_count);
  if (gone !== undefined)
    return `the file ${gone.id} belongs to message ${gone.position}, which does not exist`;
  const open = new Set(openTurns(bundle).map(({ number }) => number));
  const lost = linesOf(bundle, "action").find(({ status, turn }) => status === "pending" && !open.has(turn));
  return lost === undefined ? null : `the action ${lost.id} is pending, but its turn has ended`;
}

function turnsOf(bundle: SessionBundle): ReadonlySet<number> {
  return new Set(linesOf(bundle, "turn").map(({ number }) => number));
}

/** Returns true if `numbers` are the numbers from 1 to `count`, each once. */
function counts(numbers: readonly number[], count: number): boolean {
  const found = new Set(numbers);
  return numbers.length === count && found.size === count && numbers.every((number) => number <= count);
}
