// Loaded first by each thread of a measured service: reports on request which source files have executed a function since the last request.

import { Session, type Profiler } from "node:inspector";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { BroadcastChannel, isMainThread } from "node:worker_threads";

const PACKAGES = new URL("../../packages/", import.meta.url);

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** Returns the files, as paths below `packages/`, and starts counting anew. */
function take(): readonly string[] {
  let scripts: readonly Profiler.ScriptCoverage[] = [];
  session.post("Profiler.takePreciseCoverage", (error, coverage) => {
    if (error !== null) throw error;
    scripts = coverage.result;
  });
  return scripts
    .filter(({ url }) => url.startsWith(PACKAGES.href) && url.includes("/src/"))
    .filter(({ functions }) =>
      // A function without a name that begins with the file is the module itself.
      functions.some(
        ({ functionName, ranges: [range] }) =>
          range !== undefined && range.count > 0 && (functionName !== "" || range.startOffset > 0),
      ),
    )
    .map(({ url }) => relative(fileURLToPath(PACKAGES), fileURLToPath(url)));
}

/** Worker threads answer with their files. */
const channel = new BroadcastChannel("colloquy-stats");
channel.unref();

if (isMainThread) {
  let workers = 0;
  const files = new Set<string>();
  let missing = 0;
  const report = (): void => {
    if (missing === 0) process.send?.([...files]);
  };
  channel.addEventListener("message", ({ data }: { data: unknown }) => {
    if (data === "started") workers += 1;
    if (!Array.isArray(data)) return;
    for (const file of data) files.add(String(file));
    missing -= 1;
    report();
  });
  process.on("message", () => {
    files.clear();
    for (const file of take()) files.add(file);
    missing = workers;
    channel.postMessage("take");
    report();
  });
} else {
  channel.addEventListener("message", ({ data }: { data: unknown }) => {
    if (data === "take") channel.postMessage(take());
  });
  channel.postMessage("started");
}
