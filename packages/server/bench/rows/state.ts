// State of a session of 2 KB, against bare node:http that sends the same bytes.

import type { LoadAnswer } from "../load/client.ts";
import { getRequest, postRequest, randomSessionId } from "../load/requests.ts";
import type { BytesInput } from "../controls/bytes.ts";
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

/** Creates a session with a snapshot of about 2 KB and returns Colloquy's answer. */
export async function makeSmallSession(
  context: RowContext,
  port: number,
  sessionId: string,
  headers = "",
): Promise<LoadAnswer> {
  // Each waits for its answer: three turns, and a state once the title is there.
  const chat = (text: string) =>
    postRequest(`/api/chat?message=${text}`, sessionId).replace(
      "Content-Length",
      `${headers}Prefer: wait=10\r\nContent-Length`,
    );
  const words = "some+words+that+make+it+longer+".repeat(8);
  await context.client.ask("fetch", { port, requests: [1, 2, 3].map((number) => chat(`${words}${number}`)) });
  for (let before = "-"; ; ) {
    const answer = await context.client.ask("answer", {
      port,
      request: getRequest("/api/state", sessionId, headers),
    });
    if (answer.body === before && !answer.body.includes('"New Chat"')) return answer;
    before = answer.body;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

export async function measureState(context: RowContext): Promise<readonly Row[]> {
  const colloquy = startColloquyRole(context);
  const sessionId = randomSessionId();
  const port = await colloquy.ask("port");
  const answer = await makeSmallSession(context, port, sessionId);
  const control = new RoleProcess<Listening>("bytes", answer satisfies BytesInput);
  try {
    const request = getRequest("/api/state", sessionId);
    const measure = async (at: number) => {
      const result = await context.client.ask("closedLoop", {
        port: at,
        connections: CONNECTIONS,
        plan: { kind: "fixed", request },
        warmUpMs: context.warmUpMs,
        measuredMs: context.measuredMs,
      });
      checkStatuses(result);
      return result.perSecond;
    };
    const controlPort = await control.ask("port");
    const rounds = await inTurn(
      context.rounds,
      () => measure(port),
      () => measure(controlPort),
    );
    const ratios = rounds.map((round) => round.colloquy / round.control);
    return [
      {
        name: `state of a session of ${(answer.body.length / 1024).toFixed(1)} KB, ${CONNECTIONS} connections`,
        colloquy: formatCount(median(rounds.map((round) => round.colloquy)), "/s"),
        control: formatCount(median(rounds.map((round) => round.control)), "/s"),
        ratio: formatRounds(ratios),
        target: "at least 0.85",
        met: median(ratios) >= 0.85,
      },
    ];
  } finally {
    await stopAll([colloquy, control]);
  }
}
