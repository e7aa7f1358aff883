// Run by `npm run build` in packages/ui: bundles `<colloquy-chat>` and the stylesheet into `dist`, for
// examples/express.

import { join } from "node:path";
import { buildElement } from "./build-package.ts";

await buildElement(join(import.meta.dirname, "../dist"));
