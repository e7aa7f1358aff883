// Two bare processes on one bus: one sends texts, the other records arrivals. With `commits`, a row is
// committed before each.

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@nats-io/transport-node";
import { Client } from "pg";
import { machineMs } from "../machine-clock.ts";
import { serveRole } from "../role.ts";

export interface HopsInput {
  readonly databaseUrl: string;
  /** `null` for LISTEN and NOTIFY. */
  readonly natsUrl: string | null;
}

interface Sending {
  readonly count: number;
  readonly everyMs: number;
  readonly commits: boolean;
}

interface Line {
  send(text: string): Promise<unknown>;
  close(): Promise<unknown>;
}

const NAME = "hops";
/** Created by the process that starts these. */
export const HOPS_TABLE = "CREATE TABLE hops (id bigserial PRIMARY KEY, session text, text text)";
/** About as many bytes as a notification of Colloquy. */
const FILLING = "x".repeat(300);

export async function startHopsControl(input: HopsInput): Promise<void> {
  const arrivals: [number, number][] = [];
  const onText = (text: string): void => void arrivals.push([Number.parseInt(text, 10), machineMs()]);
  const line =
    input.natsUrl === null ? await openNotify(input, onText) : await openNats(input.natsUrl, onText);
  const database = new Client({ connectionString: input.databaseUrl });
  await database.connect();
  const handlers = {
    /** Returns when each text was sent, or its commit started, on the machine's clock. */
    send: async ({ count, everyMs, commits }: Sending): Promise<number[]> => {
      const sent: number[] = [];
      for (let number = 0; number < count; number += 1) {
        sent.push(machineMs());
        if (commits) {
          const insert = "INSERT INTO hops (session, text) VALUES ($1, $2)";
          await database.query({ name: "insert", text: insert, values: [String(number), FILLING] });
        }
        await line.send(`${number} ${FILLING}`);
        await sleep(everyMs);
      }
      return sent;
    },
    /** Returns and clears the arrivals, each with its number and time on the machine's clock. */
    take: () => arrivals.splice(0),
  };
  serveRole(handlers, async () => {
    await line.close();
    await database.end();
  });
}

export interface HopsHandlers extends Readonly<Record<string, (input: never) => unknown>> {
  readonly send: (sending: Sending) => Promise<number[]>;
  readonly take: () => [number: number, at: number][];
}

async function openNotify({ databaseUrl }: HopsInput, onText: (text: string) => void): Promise<Line> {
  const [sender, listener] = [1, 2].map(() => new Client({ connectionString: databaseUrl }));
  if (sender === undefined || listener === undefined) throw new Error("There are two connections");
  await sender.connect();
  await listener.connect();
  // Like the bus: the fastest possible hop.
  await sender.query("SET synchronous_commit = off");
  listener.on("notification", ({ payload }) => onText(payload ?? ""));
  await listener.query(`LISTEN ${NAME}`);
  return {
    send: (text) => sender.query({ name: "notify", text: "SELECT pg_notify($1, $2)", values: [NAME, text] }),
    close: () => Promise.all([sender.end(), listener.end()]),
  };
}

async function openNats(url: string, onText: (text: string) => void): Promise<Line> {
  const connection = await connect({ servers: url });
  connection.subscribe(NAME, { callback: (_error, message) => onText(message.string()) });
  await connection.flush();
  return {
    send: (text) => {
      connection.publish(NAME, text);
      return connection.flush();
    },
    close: () => connection.close(),
  };
}
