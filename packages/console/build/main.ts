// `npm run build` in packages/console builds the console into `dist`, where the server finds it.

import { join } from "node:path";
import { buildConsole } from "./build-console.ts";

await buildConsole(join(import.meta.dirname, "../dist"));
