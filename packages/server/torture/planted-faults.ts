// The faults for `--plant`. Each describes the behaviour of a server with the fault, which every run must
// detect.

import type { Plant } from "./plants.ts";

/**
 * Milliseconds for which the store's thread waits between its early answer and its commit. Without the wait,
 * a killed process would nearly always have completed its write, which the system keeps.
 */
const DELAY_MS = 30;

export const PLANTS: Readonly<Record<string, Plant>> = {
  none: { fault: "nothing: a copy of the sources as they are", replacements: [] },
  "early-ack": {
    fault: `what was decided is answered ${DELAY_MS} ms before it is committed`,
    replacements: [
      {
        file: "engine/src/store/sqlite/group-commit.ts",
        text: "      commit.run();",
        by: `      (globalThis as unknown as { answerEarly: (result: unknown) => void }).answerEarly(result);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${DELAY_MS});
      commit.run();`,
      },
      {
        file: "engine/src/store/sqlite/worker.ts",
        text: 'post(port, { kind: "outcomes", outcomes });',
        by: 'if (told < outcomes.length) post(port, { kind: "outcomes", outcomes: outcomes.slice(told) });',
      },
      {
        file: "engine/src/store/sqlite/worker.ts",
        text: "const outcomes = completed(calls, runCalls(calls), { wal, files });",
        by: `let told = 0;
        Object.assign(globalThis, {
          answerEarly: (result: unknown) => {
            const early = (calls.length === 1 ? [{ value: result }] : result) as typeof outcomes;
            told += early.length;
            post(port, { kind: "outcomes", outcomes: early });
          },
        });
        const outcomes = completed(calls, runCalls(calls), { wal, files });`,
      },
    ],
  },
  "no-epoch-check": {
    fault: "a run may write into whatever turn of its session runs now, under whatever epoch",
    replacements: [
      {
        file: "engine/src/core/commands/command.ts",
        text: "return session.key === identity.sessionKey && session.epoch === identity.epoch;",
        by: "void [session, identity];\n  return true;",
      },
      {
        file: "engine/src/core/commands/command.ts",
        text: 'turn.number === identity.number && turn.state === "running"',
        by: 'turn.state === "running"',
      },
    ],
  },
  "sync-off": {
    fault: "the log is not synced, so that a power cut may take what was acknowledged",
    replacements: [
      {
        file: "engine/src/store/sqlite/database.ts",
        text: "PRAGMA synchronous = FULL;",
        by: "PRAGMA synchronous = OFF;",
      },
    ],
  },
  "sync-normal": {
    fault: "the log is synced at checkpoints only",
    replacements: [
      {
        file: "engine/src/store/sqlite/database.ts",
        text: "PRAGMA synchronous = FULL;",
        by: "PRAGMA synchronous = NORMAL;",
      },
    ],
  },
  "edit-forgotten": {
    fault: "a message that was replaced is gone from memory, but not from the store",
    replacements: [
      {
        file: "engine/src/core/commands/draft.ts",
        text: "      messageCount: position - 1,\n",
        by: "",
      },
      {
        file: "engine/src/store/sqlite/draft-writer.ts",
        text: "ofPositions.run(key, removal.position);",
        by: "void ofPositions;",
      },
    ],
  },
  "second-claim": {
    fault: "a call that a client has claimed is given to another client too",
    replacements: [
      {
        file: "engine/src/core/commands/claim-action.ts",
        text: 'if (live !== null && live.token !== renews && live.token !== token) return { kind: "claimed_otherwise" };',
        by: "",
      },
      {
        file: "engine/src/core/commands/claim-action.ts",
        text: "{ token: live?.token ?? token, expiresAt }",
        by: "{ token: renews ?? token, expiresAt }",
      },
    ],
  },
  "output-dropped": {
    fault: "the output of a client tool is acknowledged, but the assistant gets null",
    replacements: [
      {
        file: "engine/src/core/commands/asking.ts",
        text: "return error === undefined ? { output, isError: false }",
        by: "return error === undefined ? { output: output && null, isError: false }",
      },
    ],
  },
  "second-decision": {
    fault: "an action of approvers that was decided is decided again, differently",
    replacements: [
      {
        file: "engine/src/core/commands/decide-action.ts",
        text: 'return isSame ? { kind: "decided", action, unblocked: 0 } : { kind: "decided_otherwise" };',
        by: `if (action.approvers !== null)
        return { kind: "decided", action: { ...action, status }, unblocked: 0 };
      return isSame ? { kind: "decided", action, unblocked: 0 } : { kind: "decided_otherwise" };`,
      },
    ],
  },
  "own-request": {
    fault: "an approver may decide a request of their own",
    replacements: [
      {
        file: "engine/src/core/commands/decide-action.ts",
        text: 'return isBarred && requesters.has(decider.owner) ? "own_request" : null;',
        by: "void [isBarred, requesters];\n  return null;",
      },
    ],
  },
  "page-gap": {
    fault: "a list of pending actions leaves out one between two pages",
    replacements: [
      {
        file: "engine/src/sessions/actions.ts",
        text: "found.length > limit ? page.at(-1) : undefined",
        by: "found.length > limit ? found.at(-1) : undefined",
      },
    ],
  },
  "list-from-memory": {
    fault: "an approver gets the list of pending actions of five seconds ago",
    replacements: [
      {
        file: "engine/src/sessions/actions.ts",
        text: "const found = await store.actions.forApprover({ rules, owner, after, limit: limit + 1 });",
        by: `const lists = ((globalThis as { lists?: Map<string, readonly [number, unknown]> }).lists ??= new Map());
    const key = JSON.stringify([rules, owner, after, limit]);
    const [at = 0, kept] = lists.get(key) ?? [];
    const found =
      Date.now() - at < 5_000
        ? (kept as Awaited<ReturnType<typeof store.actions.forApprover>>)
        : await store.actions.forApprover({ rules, owner, after, limit: limit + 1 });
    if (found !== kept) lists.set(key, [Date.now(), found]);`,
      },
    ],
  },
  "denied-call-runs": {
    fault: "a call that an approver has denied runs nevertheless",
    replacements: [
      {
        file: "engine/src/core/commands/decide-action.ts",
        text: 'if (action.asked.kind === "approval" && decision === "approve")',
        by: 'if (action.asked.kind === "approval")',
      },
    ],
  },
  // The following faults show in runs on several nodes.
  "commit-again": {
    fault:
      "a transaction whose connection broke during its commit is run again, and nobody asks what became of it",
    replacements: [
      {
        file: "postgres/src/connections.ts",
        text: "await readBack(transaction, lost, { transact, onWait });",
        by: "return await this.write(work);",
      },
    ],
  },
  "commit-denied": {
    fault: "where the connection broke during a commit it is said that nothing was changed",
    replacements: [
      {
        file: "postgres/src/connections.ts",
        text: "await readBack(transaction, lost, { transact, onWait });",
        by: "throw lost;",
      },
    ],
  },
  "late-takeover": {
    fault: "leases are 30 s long, so that the turns of a dead node go on late",
    replacements: [
      {
        file: "engine/src/core/turn.ts",
        text: "LEASE_MS = 10_000",
        by: "LEASE_MS = 30_000",
      },
    ],
  },
  "no-own-clock": {
    fault: "an owner does not look at its own clock, so that it goes on when it cannot renew its leases",
    replacements: [
      {
        file: "engine/src/turns/leases.ts",
        text: "clock.every(WATCH_EVERY_MS, () => this.stopUnheld()),",
        by: "",
      },
    ],
  },
  "stale-memory": {
    fault: "a node answers from memory and does not ask the store what others have committed",
    replacements: [
      {
        file: "engine/src/sessions/session-registry.ts",
        text: "if (session === undefined || sync === null) return session ?? null;",
        by: "if (session === undefined || sync !== undefined) return session ?? null;",
      },
    ],
  },
  // The following faults show in runs with a standby.
  "local-commit": {
    fault:
      "a transaction counts as committed if it is on the primary, after the wait for the standby was cut",
    replacements: [{ file: "postgres/src/commit.ts", text: "if (isDurable) return;", by: "return;" }],
  },
  "deaf-commit": {
    fault:
      "a COMMIT counts as durable although the server warned that its wait for the standby was cancelled",
    replacements: [
      {
        file: "postgres/src/commit.ts",
        text: "warning === undefined ? null : new NotReplicated(warning)",
        by: "warning === undefined ? null : null",
      },
    ],
  },
};
