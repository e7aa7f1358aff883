// `npm run build` in packages/console: the console stands in `dist` then, where the server finds it.

import { join } from "node:path";
import { buildConsole } from "./build-console.ts";

await buildConsole(join(import.meta.dirname, "../dist"));
