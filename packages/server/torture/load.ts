// People at work: each goes from one session to the next, chats, looks, interrupts, renames, deletes and begins again, while
// the server dies under it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Snapshot } from "@colloquy/protocol";
import { nextMessage } from "./conversation.ts";
import type { Random } from "./harness/random.ts";
import { SessionClient, type LoadContext } from "./session-client.ts";
import { comeToRest, settle } from "./settlement.ts";

/** Actions in a session before its person goes on to the next one. */
const ACTIONS = { least: 15, most: 90 };
/** Numbers that a long answer counts to, at twenty a second, and those of the few that are longer still. */
const LONGEST_COUNT = 30;
const VERY_LONG = { count: 200, share: 0.06 };

/** Share of the sessions in which nobody interrupts or deletes anything, and the share of the actions that are left then. */
const PATIENT = 0.35;
const PATIENT_KINDS = 0.85;

export interface SettledSession {
  readonly session: SessionClient;
  readonly snapshot: Snapshot;
}

/**
 * Runs one person until `stopping` is aborted, then settles the last session. Answers every session that was left
 * in order. Rejects only when `context.giveUp` is aborted.
 */
export async function runPerson(
  context: LoadContext,
  random: Random,
  nextSerial: () => number,
  stopping: AbortSignal,
): Promise<readonly SettledSession[]> {
  const settled: SettledSession[] = [];
  while (!stopping.aborted) {
    const session = new SessionClient(context, random);
    try {
      await useSession(session, random, nextSerial, stopping);
      if (session.isUncertain) continue;
      const snapshot = await settle(session, context.violations);
      if (snapshot !== null) settled.push({ session, snapshot });
    } finally {
      await session.follower.close();
    }
  }
  return settled;
}

/**
 * What was left behind must still be there at the end, as it was; only a title may have come since, and messages that nobody had had an
 * answer to.
 */
export async function checkLeftBehind(
  settled: readonly SettledSession[],
  context: LoadContext,
): Promise<void> {
  for (const { session, snapshot } of settled) {
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
  random: Random,
  nextSerial: () => number,
  stopping: AbortSignal,
): Promise<void> {
  const actions = random.integer(ACTIONS.least, ACTIONS.most);
  const longest = (): number =>
    session.context.hasLongAnswers && random.chance(VERY_LONG.share) ? VERY_LONG.count : LONGEST_COUNT;
  const chat = () => session.chat(nextMessage(random, nextSerial(), longest()));
  // What stands still is set going again by whoever interrupts it, and nobody would see for how long it had.
  const isPatient = random.chance(PATIENT);
  for (let done = 0; done < actions && !stopping.aborted && !session.isUncertain; done += 1) {
    const kind = random.next() * (isPatient ? PATIENT_KINDS : 1);
    if (kind < 0.52) await chat();
    else if (kind < 0.62) await Promise.all(Array.from({ length: random.integer(2, 4) }, chat));
    else if (kind < 0.78) await session.state();
    else if (kind < 0.82) await session.rename(`Title ${nextSerial()}`);
    else if (kind < PATIENT_KINDS) await session.setUserState(nextSerial());
    else if (kind < 0.93) await session.interrupt();
    else if (kind < 0.97) await interruptAndChat(session, chat);
    else await session.remove();
    // Some act at once, some think.
    if (random.chance(0.6)) await sleep(random.next() * 250);
  }
}

/** An interrupted turn that was not really stopped would write into what follows at once. */
async function interruptAndChat(session: SessionClient, chat: () => Promise<void>): Promise<void> {
  await chat();
  await session.interrupt();
  await chat();
}
