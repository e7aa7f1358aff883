// Groups the lines of an export into sessions. An invalid line rejects its session but no other.

import { z } from "zod";
import { isCleanText } from "../core/text.ts";
import { problemOf, type LineOf, type SessionBundle } from "./session-bundle.ts";
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

/** Throws a message for the user if the first line is not that of an export that this version can read. */
export async function* readSessions(lines: AsyncIterable<string>): AsyncGenerator<ReadSession, undefined> {
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
    const step = take(current, parsed, number);
    current = "collected" in step ? step.collected : null;
    isSkipping = "problem" in step;
    if ("problem" in step) yield step;
    if ("bundle" in step) yield step;
  }
  if (current !== null) yield cutOff(current, number + 1);
  if (number > 0 && !isDone) {
    const problem = 'is missing: the export was cut off before its last line, with "kind": "done"';
    yield { id: null, line: number + 1, problem };
  }
  if (number === 0)
    throw new Error("The input is empty. An export begins with a line that states its format.");
  return undefined;
}

function readHeader(text: string): void {
  const parsed = parse(text);
  const header = Header.safeParse("value" in parsed ? parsed.value : null);
  if (!header.success) {
    throw new Error(`Line 1 is not that of an export: it has to have "format": "${FORMAT}" and a version.`);
  }
  if (header.data.version !== FORMAT_VERSION) {
    throw new Error(
      `Line 1: the export has version ${header.data.version} of the format, and this Colloquy reads version ${FORMAT_VERSION}.`,
    );
  }
}

/** What a line makes of the session that is being read, `null` for none. */
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
  if (current === null) {
    const session = value as unknown as LineOf<"session">;
    return { collected: { session, firstLine: line, lines: new Map(), count: 1 } };
  }
  const ofKind = current.lines.get(kind);
  // As it came, for what is JSON keeps the order of its names, with what exports of versions before do not have.
  const row = { ...checked.data, ...value };
  if (ofKind === undefined) current.lines.set(kind, [row]);
  else ofKind.push(row);
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
      return { problem: "has text with NUL or a lone surrogate, which no store keeps" };
    return { problem: "must be valid JSON" };
  }
}

class UncleanText extends Error {}

function explain(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "" : `${z.core.toDotPath(issue.path)}: `;
  return `${place}${issue?.message ?? "is not as it should be"}`;
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}
