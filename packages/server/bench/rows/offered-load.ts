// 500 chats a second with running turns, and 200 states a second beside them, against the two bare servers.

import type { BytesInput } from "../controls/bytes.ts";
import type { InsertInput } from "../controls/insert.ts";
import { getRequest, randomSessionId } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { median, percentile } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import { checkStatuses, inTurn, startColloquyRole, stopAll, type Listening, type RowContext } from "./row.ts";
import { makeSmallSession } from "./state.ts";

const CHATS_PER_SECOND = 500;
const STATES_PER_SECOND = 200;
/** Per load: far more than are ever busy. */
const CONNECTIONS_OF_EACH = 32;
const MESSAGES_PER_SESSION = 10;

/** p99 in milliseconds. */
interface Percentiles {
  readonly chats: number;
  readonly states: number;
}

export async function measureOfferedLoad(context: RowContext): Promise<readonly Row[]> {
  const colloquy = startColloquyRole(context);
  const sessionId = randomSessionId();
  const port = await colloquy.ask("port");
  const answer = await makeSmallSession(context, port, sessionId);
  const inserts = new RoleProcess<Listening>("insert", {
    directory: context.newDirectory(),
  } satisfies InsertInput);
  const bytes = new RoleProcess<Listening>("bytes", answer satisfies BytesInput);
  try {
    const ports = { inserts: await inserts.ask("port"), bytes: await bytes.ask("port") };
    const measure = (chatPort: number, statePort: number) => offer(context, sessionId, chatPort, statePort);
    const rounds = await inTurn(
      context.rounds,
      () => measure(port, port),
      () => measure(ports.inserts, ports.bytes),
    );
    return (["chats", "states"] as const).map((what) => {
      const ratios = rounds.map((round) => round.colloquy[what] / round.control[what]);
      const rate = what === "chats" ? CHATS_PER_SECOND : STATES_PER_SECOND;
      return {
        name: `p99 of ${what} at ${rate}/s offered, ${what === "chats" ? "turns running" : "beside the chats"}`,
        colloquy: formatMs(median(rounds.map((round) => round.colloquy[what]))),
        control: formatMs(median(rounds.map((round) => round.control[what]))),
        ratio: formatRounds(ratios),
        target: "at most 3",
        met: median(ratios) <= 3,
      };
    });
  } finally {
    await stopAll([colloquy, inserts, bytes]);
  }
}

async function offer(
  context: RowContext,
  sessionId: string,
  chatPort: number,
  statePort: number,
): Promise<Percentiles> {
  const [chats, states] = await context.client.ask("openLoop", {
    loads: [
      {
        name: "chats",
        port: chatPort,
        perSecond: CHATS_PER_SECOND,
        plan: {
          kind: "chat",
          messagesPerSession: MESSAGES_PER_SESSION,
          prefer: null,
          text: "a+message+to+answer",
        },
      },
      {
        name: "states",
        port: statePort,
        perSecond: STATES_PER_SECOND,
        plan: { kind: "fixed", request: getRequest("/api/state", sessionId) },
      },
    ],
    connections: CONNECTIONS_OF_EACH,
    warmUpMs: context.warmUpMs,
    measuredMs: context.measuredMs * 1.5,
  });
  if (chats === undefined || states === undefined) throw new Error("No result for a load");
  checkStatuses(chats);
  checkStatuses(states);
  return { chats: percentile(chats.latencies, 0.99), states: percentile(states.latencies, 0.99) };
}
