// Cost of bodies at the maximum of their limits: the dearest that is refused and the dearest that is accepted.
// The control sends the same bytes with a type that is refused, so that they are read and not parsed.

import { bodyLimitOf, HEAVY_VALUES, heavyBody } from "../../fuzz/heavy-bodies.ts";
import { createRandom } from "../../torture/harness/random.ts";
import { randomSessionId } from "../load/requests.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import { startColloquyRole, stopAll, type RowContext } from "./row.ts";

const USE_CHAT = { method: "POST", path: "/api/ai-sdk/chat" };
const CHAT = { method: "POST", path: "/api/chat" };
const KIB = 1024;

interface Group {
  readonly what: string;
  readonly operation: { readonly method: string; readonly path: string };
  readonly place: string;
  /** Bytes of the body; the operation's maximum when absent. */
  readonly bytes?: number;
  readonly isAccepted: boolean;
  /** Maximum multiple of the control. */
  readonly most: number;
}

const GROUPS: readonly Group[] = [
  {
    what: "a conversation of 17 MiB",
    operation: USE_CHAT,
    place: "an earlier message",
    isAccepted: true,
    most: 10,
  },
  {
    what: "a conversation whose last message has 17 MiB",
    operation: USE_CHAT,
    place: "the last message",
    isAccepted: false,
    most: 10,
  },
  {
    what: "a last message of 1 MiB",
    operation: USE_CHAT,
    place: "the last message",
    bytes: KIB * KIB,
    isAccepted: false,
    most: 50,
  },
  { what: "a chat of 256 KiB", operation: CHAT, place: "more", isAccepted: true, most: 50 },
  { what: "a chat of 256 KiB", operation: CHAT, place: "message", isAccepted: false, most: 50 },
];

export async function measureBodies(context: RowContext): Promise<readonly Row[]> {
  const colloquy = startColloquyRole(context);
  try {
    const port = await colloquy.ask("port");
    const rows: Row[] = [];
    for (const group of GROUPS) {
      rows.push(
        await measureGroup(group, context.rounds, async (body, type) => {
          const before = await colloquy.ask("processorMs");
          const status = await send(port, group.operation.path, body, type);
          return { status, ms: (await colloquy.ask("processorMs")) - before };
        }),
      );
    }
    return rows;
  } finally {
    await stopAll([colloquy]);
  }
}

/** Sends the body and returns the status and the server's processor time. */
type Send = (body: Buffer, type: string) => Promise<{ readonly status: number; readonly ms: number }>;

async function measureGroup(
  { what, operation, place, bytes = bodyLimitOf(operation), isAccepted, most }: Group,
  rounds: number,
  sendBody: Send,
): Promise<Row> {
  let dearest = { kind: "", ms: 0, control: 1, ratios: [0] };
  for (const kind of Object.keys(HEAVY_VALUES)) {
    const costs = [];
    for (let round = 0; round < rounds; round += 1) {
      const random = createRandom(`${kind} ${round}`);
      const valid =
        operation === CHAT ? { message: "hello" } : { id: randomSessionId(), trigger: "submit-message" };
      const body = heavyBody(operation, place, kind, valid, random, bytes);
      const { status, ms } = await sendBody(body, "application/json");
      const { ms: control } = await sendBody(body, "application/xml");
      if ((status === 200) === isAccepted) costs.push({ ms, control: Math.max(control, 0.1) });
    }
    if (costs.length < rounds) continue;
    const ms = Math.min(...costs.map((cost) => cost.ms));
    if (ms <= dearest.ms) continue;
    const control = Math.min(...costs.map((cost) => cost.control));
    dearest = { kind, ms, control, ratios: costs.map((cost) => cost.ms / cost.control) };
  }
  const ratio = dearest.ms / dearest.control;
  return {
    name: `${isAccepted ? "accepting" : "refusing"} ${what}, full of ${dearest.kind}, against reading it`,
    colloquy: formatMs(dearest.ms),
    control: formatMs(dearest.control),
    ratio: formatRounds(dearest.ratios),
    target: `at most ${most}`,
    met: dearest.kind !== "" && ratio <= most,
  };
}

async function send(port: number, path: string, body: Buffer, type: string): Promise<number> {
  const headers = { "content-type": type, "x-session-id": randomSessionId() };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers,
    body: new Uint8Array(body),
  });
  await answer.arrayBuffer();
  return answer.status;
}
