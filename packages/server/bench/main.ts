// npm run bench [-- --nodes --only ROW --seconds 4 --rounds 5 --quick --node-arguments="--cpu-prof"]
//
// Prints a table that compares Colloquy with minimal controls, measured alternately in this run. Exits with 1
// if a target is missed. Also the entry of every process of the bench (`--role`).

import { parseArguments } from "../torture/harness/arguments.ts";

const given = parseArguments(process.argv.slice(2), {
  only: null,
  seconds: 0,
  rounds: 0,
  quick: false,
  nodes: false,
  "node-arguments": "",
  role: null,
  input: "null",
});

/** Code of a forked process by its role. Each loads only its own code. */
const ROLES: Readonly<Record<string, (input: never) => Promise<void>>> = {
  client: async () => (await import("./load/client.ts")).startClient(),
  colloquy: async (input) => (await import("./colloquy.ts")).startColloquy(input),
  bytes: async (input) => (await import("./controls/bytes.ts")).startBytesControl(input),
  insert: async (input) => (await import("./controls/insert.ts")).startInsertControl(input),
  sdk: async () => (await import("./controls/sdk.ts")).startSdkControl(),
  hops: async (input) => (await import("./controls/hops.ts")).startHopsControl(input),
  relay: async (input) => (await import("./controls/relay.ts")).startRelayControl(input),
  rows: async (input) => (await import("./controls/rows.ts")).startRowsControl(input),
  streams: async (input) => (await import("./controls/streams.ts")).startStreamsControl(input),
};

if (given.role === null) {
  const { runBench } = await import("./bench-run.ts");
  const met = await runBench({
    only: given.only,
    seconds: given.seconds > 0 ? given.seconds : given.quick ? 1.5 : 4,
    rounds: given.rounds > 0 ? given.rounds : given.quick ? 2 : given.nodes ? 3 : 5,
    quick: given.quick,
    nodes: given.nodes,
    nodeArguments: given["node-arguments"].split(" ").filter((argument) => argument !== ""),
  });
  process.exit(met ? 0 : 1);
} else {
  const start = ROLES[given.role];
  if (start === undefined) throw new Error(`Unknown role "${given.role}"`);
  await start(JSON.parse(given.input) as never);
}
