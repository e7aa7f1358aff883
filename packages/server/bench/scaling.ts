// `npm run bench:scaling`: reckons docs/scaling.md anew from the costs that docs/performance.md has, and writes its tables in place.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DOCS = join(import.meta.dirname, "../../../docs");

/** What is assumed, and what is measured elsewhere. Times in seconds. */
const TURNS = 50_000;
const LIVE = 1_000_000;
const ANSWER = 10;
const PIECES = 20;
const DATABASE_CORES = 32;
/** Of one core, that a process is to use at most. */
const BUSY = 0.6;
/** Notes a second that one PostgreSQL passed (ADR 17). */
const NOTIFIED = 34_000;
/** Of a node with NATS: store, leases, counts. */
const CONNECTIONS = 10 + 2 + 2;

/** Microseconds of processor, and KB of WAL. */
interface Cost {
  readonly nodes: number;
  readonly database: number;
  readonly wal: number;
}

export interface Costs {
  readonly turn: Cost;
  readonly text: Cost;
  readonly textByNotify: Cost;
  /** KB of memory. */
  readonly stream: number;
}

/** Reads them from the tables of docs/performance.md. */
export function costsIn(performance: string): Costs {
  const rows = performance.split("\n").filter((line) => line.startsWith("| "));
  const costOf = (start: string, bus: string): Cost => {
    const row = rows.find((line) => line.startsWith(`| cost of ${start}`) && line.includes(`, ${bus} |`));
    const found = /nodes (\d+) µs, database (\d+) µs of processor; ([\d.]+) KB/.exec(row ?? "");
    if (found === null) throw new Error(`docs/performance.md has no cost of ${start} over ${bus}`);
    const [, nodes, database, wal] = found.map(Number);
    return { nodes: nodes ?? 0, database: database ?? 0, wal: wal ?? 0 };
  };
  const stream = /^\| memory of an open stream[^|]*\| ([\d.]+) KB/m.exec(performance);
  if (stream === null) throw new Error("docs/performance.md has no memory of an open stream");
  const read = "the same, a reader of each";
  const [turn, text] = [costOf("a whole turn", "NATS"), costOf(read, "NATS")];
  return { turn, text, textByNotify: costOf(read, "LISTEN/NOTIFY"), stream: Number(stream[1]) };
}

/** The tables of docs/scaling.md, by name. Each figure follows from what is shown of the others: cores are rounded up. */
export function tablesOf({ turn, text, textByNotify, stream }: Costs): Readonly<Record<string, string>> {
  const running = TURNS * ANSWER;
  const cores = (micros: number, each: number): number => Math.ceil((micros * each) / 1e6);
  const nodeCores = cores(turn.nodes, TURNS) + cores(text.nodes, running);
  const ofTurn = turn.database + ANSWER * text.database;
  const bound = Math.floor((DATABASE_CORES * 1e6) / ofTurn);
  const cells = Math.ceil(TURNS / bound);
  const wal = (turns: number): string => `${count((turns * (turn.wal + ANSWER * text.wal)) / 1024)} MB/s`;
  const cellCores = Math.ceil(nodeCores / cells);
  const processes = Math.ceil(cellCores / BUSY);
  const notes = (running * PIECES) / cells;
  const row = ({ nodes, database, wal: each }: Cost): string =>
    `${count(nodes)} µs | ${count(database)} µs | ${each} KB`;
  return {
    costs: `| | Processor, nodes | Processor, database | WAL |
|---|---|---|---|
| a whole turn without the time in which it streams, over NATS | ${row(turn)} |
| a second of text that streams, read on another node, over NATS | ${row(text)} |
| the same over LISTEN/NOTIFY | ${row(textByNotify)} |
| an open stream | ${stream} KB of memory | nothing | nothing |`,
    arithmetic: `| | | comes to |
|---|---|---|
| Nodes: turns | ${count(TURNS)}/s × ${count(turn.nodes)} µs | ${count(cores(turn.nodes, TURNS))} cores |
| Nodes: text | ${count(running)} × ${count(text.nodes)} µs/s | ${count(cores(text.nodes, running))} cores, ${count(nodeCores)} with the turns |
| Database: turns | ${count(TURNS)}/s × ${count(turn.database)} µs | ${count(cores(turn.database, TURNS))} cores |
| Database: text | ${count(running)} × ${count(text.database)} µs/s | ${count(cores(text.database, running))} cores |
| WAL | ${count(TURNS)}/s × ${turn.wal} KB + ${count(running)} × ${text.wal} KB/s | ${wal(TURNS)} (1 MB is 1,024 KB) |
| Notes on the bus | ${count(running)} × ${PIECES}/s | ${count(running * PIECES)}/s |
| Lease renewals | ${count(running)} / 3 s, one statement a node | ${count(running / 3)} rows/s |
| Another look at what is read | ${count(LIVE)} / 2 s, 500 a statement | ${count(LIVE / 2)} index reads in ${count(LIVE / 1000)} statements/s |
| Use of open streams noted | ${count(LIVE)} / 4 min | ${count(LIVE / 240)} rows/s |
| Memory: streams | ${count(LIVE)} × ${stream} KB | ${((LIVE * stream) / 1024 ** 2).toFixed(1)} GB over all nodes (1 GB is 1,024² KB) |
| Running turns of one process | ${BUSY * 100} % of a core / ${count(text.nodes)} µs/s | ${count(Math.floor((BUSY * 1e6) / text.nodes))} (\`maxRunning\`) |`,
    ends: `| | | ends at |
|---|---|---|
| LISTEN/NOTIFY | ${count(NOTIFIED)} notes/s / (${ANSWER} s × ${PIECES}/s) | ${count(NOTIFIED / ANSWER / PIECES)} turns/s |
| One PostgreSQL of ${DATABASE_CORES} cores | ${DATABASE_CORES} cores / (${count(turn.database)} µs + ${ANSWER} s × ${count(text.database)} µs/s), of which ${Math.round((100 * ANSWER * text.database) / ofTurn)} % are text | ${count(bound)} turns/s, with ${wal(bound)} of WAL |`,
    cells: `| Each of ${cells} cells | | |
|---|---|---|
| Turns | ${count(TURNS)}/s / ${cells} | ${count(TURNS / cells)}/s, ${count(running / cells)} running |
| Live sessions | ${count(LIVE)} / ${cells} | ${count(LIVE / cells)} |
| PostgreSQL | ${DATABASE_CORES} cores | ${wal(TURNS / cells)} of WAL |
| Nodes | ${count(nodeCores)} cores / ${cells} | ${cellCores} cores, ${processes} processes of one core at ${BUSY * 100} % |
| Connections | ${processes} × ${CONNECTIONS} (10 for the store, 2 for leases, 2 for counts) | ${count(processes * CONNECTIONS)} at most |
| Notes | ${count(running * PIECES)}/s / ${cells} | ${count(notes)}/s, ${(notes / NOTIFIED).toFixed(1)} times what LISTEN/NOTIFY passed |`,
  };
}

/** The page with these tables in place of those between `<!-- reckoned: NAME -->` and `<!-- end -->`. */
export function withTables(page: string, tables: Readonly<Record<string, string>>): string {
  return page.replaceAll(
    /(<!-- reckoned: (\w+) -->\n)[^]*?(\n<!-- end -->)/g,
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
