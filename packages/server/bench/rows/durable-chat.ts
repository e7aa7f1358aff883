// Chats accepted and durable, with parked turns, against bare node:http that inserts one row.

import type { InsertInput } from "../controls/insert.ts";
import type { RequestPlan } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { median } from "../statistics.ts";
import { formatCount, formatRounds, type Row } from "../table.ts";
import {
  checkStatuses,
  CONNECTIONS,
  inTurn,
  startColloquyRole,
  stopAll,
  type Listening,
  type RowContext,
} from "./row.ts";

/** Unlimited: no chat is refused because of queued ones. Slots for running turns are the usual 256. */
const LIMITS = { maxWaiting: 10_000_000 } as const;

/** The first message of a session starts a turn; the others queue behind it, up to the limit. */
const MESSAGES_PER_SESSION = 10;

export async function measureDurableChat(context: RowContext): Promise<readonly Row[]> {
  const control = new RoleProcess<Listening>("insert", {
    directory: context.newDirectory(),
  } satisfies InsertInput);
  try {
    const controlPort = await control.ask("port");
    const measure = async (port: number) => {
      const plan: RequestPlan = {
        kind: "chat",
        messagesPerSession: MESSAGES_PER_SESSION,
        prefer: null,
        text: "park+this+turn+until+the+gate+opens",
      };
      const { warmUpMs, measuredMs } = context;
      const loop = { port, connections: CONNECTIONS, plan, warmUpMs, measuredMs };
      const result = await context.client.ask("closedLoop", loop);
      checkStatuses(result);
      return result.perSecond;
    };
    // A new server each round, without parked turns of earlier rounds.
    const measureColloquy = async () => {
      const colloquy = startColloquyRole(context, { limits: LIMITS });
      try {
        return await measure(await colloquy.ask("port"));
      } finally {
        await stopAll([colloquy]);
      }
    };
    const rounds = await inTurn(context.rounds, measureColloquy, () => measure(controlPort));
    const ratios = rounds.map((round) => round.colloquy / round.control);
    return [
      {
        name: `chat accepted and durable, ${CONNECTIONS} connections, turns parked (256 in the model, the rest in the store)`,
        colloquy: formatCount(median(rounds.map((round) => round.colloquy)), "/s"),
        control: formatCount(median(rounds.map((round) => round.control)), "/s"),
        ratio: formatRounds(ratios),
        target: "at least 0.25",
        met: median(ratios) >= 0.25,
      },
    ];
  } finally {
    await stopAll([control]);
  }
}
