// `npm run build` in packages/react: the package stands in `dist` then, for `npm publish ./dist`.

import { join } from "node:path";
import { buildPackage } from "./build-package.ts";

await buildPackage(join(import.meta.dirname, "../dist"));
