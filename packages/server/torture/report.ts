import { shareOf, type MessageCounts } from "./message-counts.ts";
import { VIOLATION_KINDS, type Violation } from "./violations.ts";

/** Numbers of acknowledged operations besides chats. */
export interface Done {
  interrupts: number;
  edits: number;
  forks: number;
  /** Claims of calls that run in the client. */
  claims: number;
  /** Approval requests with an acknowledged decision. */
  decisions: number;
  /** Approval requests that expired. */
  expiries: number;
  /** Files of messages that were downloaded and compared. */
  files: number;
}

export interface TortureResult {
  readonly seed: string;
  /** Kills or other faults applied to the servers. */
  readonly faults: { readonly name: "kills" | "faults"; readonly count: number };
  readonly seconds: number;
  readonly sessions: number;
  readonly messages: Readonly<MessageCounts>;
  readonly done: Readonly<Done>;
  readonly streams: { readonly resumed: number; readonly refetched: number; readonly compared: number };
  /** Longest times without progress; absent if not measured. */
  readonly stalls?: { readonly longestMs: number; readonly longestAfterDeathMs: number };
  readonly violations: readonly Violation[];
  /** Errors logged by the servers. */
  readonly errors: readonly string[];
}

/** Violations printed in full. */
const SHOWN = 20;

/** Formats the table of a run, and its first violations. */
export function describeResult(result: TortureResult): string {
  const { messages, streams, stalls, violations } = result;
  const count = (kind: Violation["kind"]) => violations.filter((violation) => violation.kind === kind).length;
  const rows: readonly (readonly [string, string | number])[] = [
    ["acknowledged", messages.acknowledged],
    ...VIOLATION_KINDS.map(
      (kind) => [kind === "fold mismatch" ? "fold mismatches" : kind, count(kind)] as const,
    ),
    ["share acknowledged of those repeated, within 10 s", percent(shareOf(messages.withKey))],
    [
      "share acknowledged at the first try, of servers that are down too",
      percent(shareOf(messages.firstTries)),
    ],
    ["the same, where nothing was done to the server", percent(shareOf(messages.firstTriesAtWhole))],
    ["sent once, without a key", messages.sentOnce],
    ["of these, said not to be stored", messages.unchanged],
    ["of these, in doubt", messages.inDoubt],
    ...(stalls === undefined
      ? []
      : [
          ["longest without progress", seconds(stalls.longestMs)] as const,
          ["longest after the owner's death", seconds(stalls.longestAfterDeathMs)] as const,
        ]),
    [result.faults.name, result.faults.count],
    ["seed", result.seed],
    ["refused (queue full)", messages.refused],
    ["interrupts", result.done.interrupts],
    ["edits", result.done.edits],
    ["copies", result.done.forks],
    ["claims", result.done.claims],
    ["decided requests to approvers", result.done.decisions],
    ["expired requests to approvers", result.done.expiries],
    ["files downloaded", result.done.files],
    ["sessions", result.sessions],
    ["streams opened or resumed", streams.resumed],
    ["snapshots compared with the fold while it ran", streams.compared],
    ["folds begun anew after a gap in live text", streams.refetched],
    ["seconds", Math.round(result.seconds)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `| ${name.padEnd(width)} | ${String(value).padStart(8)} |`);
  const details = violations
    .slice(0, SHOWN)
    .map(({ kind, sessionId, detail }) => `${kind} in ${sessionId}: ${detail}`);
  const more = violations.length > SHOWN ? [`and ${violations.length - SHOWN} more`] : [];
  const logged =
    violations.length === 0 ? [] : result.errors.slice(0, 10).map((line) => `the server logged: ${line}`);
  return [...table, ...details, ...more, ...logged].join("\n");
}

function percent(share: number): string {
  return Number.isNaN(share) ? "none sent" : `${(share * 100).toFixed(2)} %`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
