// Simulated people: each goes from session to session, chats, reads, runs calls, asks approvers, interrupts, edits,
// forks, renames and deletes while servers fail.

import { setTimeout as sleep } from "node:timers/promises";
import type { Snapshot } from "@colloquy/protocol";
import { nextMessage } from "./conversation.ts";
import type { Random } from "./harness/random.ts";
import { SessionClient, type LoadContext } from "./session-client.ts";
import { comeToRest, settle } from "./settlement.ts";

/** Number of actions in a session before the person moves on. */
const ACTIONS = { least: 15, most: 90 };
/** Upper limits of counting answers, at twenty numbers a second; few are even longer. */
const LONGEST_COUNT = 30;
const VERY_LONG = { count: 200, share: 0.06 };

/** Share of sessions without interrupts and deletes, and the actions that remain then. */
const PATIENT = 0.35;
const PATIENT_KINDS = 0.85;
/** Share of the actions before which a person runs the calls that wait. */
const RUNS_CALLS = 0.6;
/** Share of the sessions in the office. */
const IN_OFFICE = 0.35;

export interface SettledSession {
  readonly session: SessionClient;
  readonly snapshot: Snapshot;
}

/**
 * Runs one person until `stopping` is aborted, then settles the last session and its copy. Returns all sessions left in
 * order. Rejects only if `context.giveUp` is aborted.
 */
export async function runPerson(
  context: LoadContext,
  random: Random,
  nextSerial: () => number,
  stopping: AbortSignal,
): Promise<readonly SettledSession[]> {
  const settled: SettledSession[] = [];
  const copies: SessionClient[] = [];
  while (!stopping.aborted || copies.length > 0) {
    const session = copies.shift() ?? newSession(context, random);
    try {
      await useSession(session, copies, random, nextSerial, stopping);
      if (session.isUncertain) continue;
      const snapshot = await settle(session, context.violations);
      if (snapshot !== null) settled.push({ session, snapshot });
    } finally {
      await session.follower.close();
    }
  }
  return settled;
}

function newSession(context: LoadContext, random: Random): SessionClient {
  const { office } = context;
  const isInOffice = office !== null && random.chance(IN_OFFICE);
  return new SessionClient(context, random, isInOffice ? random.pick(office.requesters) : null);
}

/** Verifies at the end that the sessions are unchanged, except for titles and messages of unknown outcome, and their files whole. */
export async function checkLeftBehind(
  settled: readonly SettledSession[],
  context: LoadContext,
): Promise<void> {
  for (const { session, snapshot } of settled) {
    await session.checkFiles(snapshot.messages);
    let now = await session.state();
    if (session.doubts > 0 && now.messages.length > snapshot.messages.length) {
      const resettled = await comeToRest(session, context.violations);
      if (resettled === null) continue;
      now = { ...resettled, messages: resettled.messages.slice(0, snapshot.messages.length) };
    }
    if (JSON.stringify(now.messages) === JSON.stringify(snapshot.messages)) continue;
    context.violations.add(
      "changed after sealed",
      session.id,
      "messages",
      "differ from when the session was left",
    );
  }
}

async function useSession(
  session: SessionClient,
  copies: SessionClient[],
  random: Random,
  nextSerial: () => number,
  stopping: AbortSignal,
): Promise<void> {
  const actions = random.integer(ACTIONS.least, ACTIONS.most);
  const longest = (): number =>
    session.context.hasLongAnswers && random.chance(VERY_LONG.share) ? VERY_LONG.count : LONGEST_COUNT;
  const next = () => nextMessage(random, nextSerial(), longest(), session.user !== null);
  const chat = () => session.chat(next());
  // Interrupts would hide stalls by starting the session again.
  const isPatient = random.chance(PATIENT);
  for (let done = 0; done < actions && !stopping.aborted && !session.isUncertain; done += 1) {
    const kind = random.next() * (isPatient ? PATIENT_KINDS : 1);
    if (kind < 0.52) await chat();
    else if (kind < 0.62) await Promise.all(Array.from({ length: random.integer(2, 4) }, chat));
    else if (kind < 0.76) await session.state();
    else if (kind < 0.78 && copies.length === 0) copies.push(await session.fork());
    else if (kind < 0.82) await session.rename(`Title ${nextSerial()}`);
    else if (kind < PATIENT_KINDS) await session.setUserState(nextSerial());
    else if (kind < 0.9) await session.interrupt();
    else if (kind < 0.94) await session.edit(next());
    else if (kind < 0.97) await interruptAndChat(session, chat);
    else await session.remove();
    // Some act at once, others pause.
    if (random.chance(0.6)) await sleep(random.next() * 250);
    if (session.follower.hasPendingActions && random.chance(RUNS_CALLS))
      await session.runCalls(await session.state());
  }
}

/** A turn that ignores its interrupt would write into the next one. */
async function interruptAndChat(session: SessionClient, chat: () => Promise<void>): Promise<void> {
  await chat();
  await session.interrupt();
  await chat();
}
