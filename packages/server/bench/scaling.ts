// `npm run bench:scaling` recalculates the tables of docs/scaling.md from the costs in docs/performance.md.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DOCS = join(import.meta.dirname, "../../../docs");

/** Assumptions of the load. Times in seconds. */
const TURNS = 50_000;
const LIVE = 1_000_000;
const ANSWER = 10;
const DELTAS = 20;
const DATABASE_CORES = 32;
/** Target utilization of a process's core. */
const BUSY = 0.6;
/** Notifications a second of one PostgreSQL (ADR 17). */
const NOTIFIED = 34_000;

/** Microseconds of processor, and KB of WAL. */
interface Cost {
  readonly nodes: number;
  readonly database: number;
  readonly wal: number;
}

export interface Costs {
  readonly turn: Cost;
  readonly text: Cost;
}

/** Reads the costs over NATS from docs/performance.md. */
export function costsIn(performance: string): Costs {
  const rows = performance.split("\n");
  const costOf = (start: string): Cost => {
    const row = rows.find((line) => line.startsWith(`| cost of ${start}`) && line.includes(", NATS |"));
    const found = /nodes (\d+) µs, database (\d+) µs of processor; ([\d.]+) KB/.exec(row ?? "");
    if (found === null) throw new Error(`docs/performance.md has no cost of ${start} over NATS`);
    const [, nodes, database, wal] = found.map(Number);
    return { nodes: nodes ?? 0, database: database ?? 0, wal: wal ?? 0 };
  };
  // The messages of a turn are searchable.
  const [turn, index] = [costOf("a whole turn"), costOf("the search index of a message")];
  return {
    turn: {
      nodes: turn.nodes + 2 * index.nodes,
      database: turn.database + 2 * index.database,
      wal: Number((turn.wal + 2 * index.wal).toFixed(1)),
    },
    text: costOf("a second of streaming text (20 deltas) with a subscriber"),
  };
}

/** Returns the tables of docs/scaling.md by name. Each figure follows from the others shown; cores are rounded up. */
export function tablesOf({ turn, text }: Costs): Readonly<Record<string, string>> {
  const running = TURNS * ANSWER;
  const cores = (micros: number, each: number): number => Math.ceil((micros * each) / 1e6);
  const nodeCores = cores(turn.nodes, TURNS) + cores(text.nodes, running);
  const ofTurn = turn.database + ANSWER * text.database;
  const bound = Math.floor((DATABASE_CORES * 1e6) / ofTurn);
  const cells = Math.ceil(TURNS / bound);
  const wal = (turns: number): string => `${count((turns * (turn.wal + ANSWER * text.wal)) / 1024)} MB/s`;
  const cellCores = Math.ceil(nodeCores / cells);
  const processes = Math.ceil(cellCores / BUSY);
  const notifications = (running * DELTAS) / cells;
  return {
    arithmetic: `| | | comes to |
|---|---|---|
| Nodes: turns | ${count(TURNS)}/s × ${count(turn.nodes)} µs | ${count(cores(turn.nodes, TURNS))} cores |
| Nodes: text | ${count(running)} × ${count(text.nodes)} µs/s | ${count(cores(text.nodes, running))} cores, ${count(nodeCores)} with the turns |
| Database: turns | ${count(TURNS)}/s × ${count(turn.database)} µs | ${count(cores(turn.database, TURNS))} cores |
| Database: text | ${count(running)} × ${count(text.database)} µs/s | ${count(cores(text.database, running))} cores |
| WAL | ${count(TURNS)}/s × ${turn.wal} KB + ${count(running)} × ${text.wal} KB/s | ${wal(TURNS)} |
| Notifications | ${count(running)} × ${DELTAS}/s | ${count(running * DELTAS)}/s |`,
    ends: `| | | ends at |
|---|---|---|
| LISTEN/NOTIFY | ${count(NOTIFIED)} notifications/s / (${ANSWER} s × ${DELTAS}/s) | ${count(NOTIFIED / ANSWER / DELTAS)} turns/s |
| One PostgreSQL of ${DATABASE_CORES} cores | ${DATABASE_CORES} cores / (${count(turn.database)} µs + ${ANSWER} s × ${count(text.database)} µs/s) | ${count(bound)} turns/s, with ${wal(bound)} of WAL |`,
    cells: `| Each of ${cells} cells | |
|---|---|
| Turns | ${count(TURNS / cells)}/s, ${count(running / cells)} running |
| Live sessions | ${count(LIVE / cells)} |
| PostgreSQL | ${DATABASE_CORES} cores, ${wal(TURNS / cells)} of WAL |
| Nodes | ${cellCores} cores, ${processes} processes at ${BUSY * 100} % of a core |
| Notifications | ${count(notifications)}/s, ${(notifications / NOTIFIED).toFixed(1)} times the limit of LISTEN/NOTIFY |`,
  };
}

/** Replaces the tables between `<!-- calculated: NAME -->` and `<!-- end -->`. */
export function withTables(page: string, tables: Readonly<Record<string, string>>): string {
  return page.replaceAll(
    /(<!-- calculated: (\w+) -->\n)[^]*?(\n<!-- end -->)/g,
    (_all, begin: string, name: string, end: string) => `${begin}${tables[name] ?? ""}${end}`,
  );
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

if (import.meta.main) {
  const [page, performance] = [join(DOCS, "scaling.md"), join(DOCS, "performance.md")];
  const tables = tablesOf(costsIn(readFileSync(performance, "utf8")));
  writeFileSync(page, withTables(readFileSync(page, "utf8"), tables));
}
