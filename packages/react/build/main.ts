// `npm run build` in packages/react builds the package into `dist`, for `npm publish ./dist`.

import { join } from "node:path";
import { buildPackage } from "./build-package.ts";

await buildPackage(join(import.meta.dirname, "../dist"));
