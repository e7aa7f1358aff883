// For runtimes that run programs.

import { converse } from "./conversation.js";

await converse(process.argv[2] ?? "", (line) => void process.stdout.write(`${line}\n`));
