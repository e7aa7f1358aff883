import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build, type InlineConfig, type Plugin } from "vite";
import { fingerprint, FINGERPRINT_FILE } from "./fingerprint.ts";

const ROOT = join(import.meta.dirname, "..");
const compressors = { ".gz": promisify(gzip), ".br": brotliOf };
/** Images and fonts are already compressed. */
const COMPRESSIBLE = /\.(?:js|css|svg)$/;
const COMPRESSED = /\.(?:gz|br)$/;

/** The fields of a chunk in Vite's manifest used here. */
interface ManifestChunk {
  readonly file: string;
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

/**
 * Builds the console into `directory`. A running server keeps serving the old page until the new one is
 * complete. `settings` override vite.config.ts, for tests. `progress` is told what happens, in few words.
 */
export async function buildConsole(
  directory: string,
  settings: InlineConfig = {},
  progress: (what: string) => void = () => undefined,
): Promise<void> {
  const sources = await fingerprint();
  const next = join(directory, `next-${process.pid}`);
  await removeLeftOver(directory);
  try {
    await forProduction(() =>
      build({
        root: ROOT,
        logLevel: "warn",
        ...settings,
        plugins: [...(settings.plugins ?? []), countModules(progress)],
        build: { ...settings.build, outDir: next, emptyOutDir: true },
      }),
    );
    const files = await readdir(join(next, "assets"));
    for (const [index, file] of files.entries()) {
      progress(`compressing file ${index + 1} of ${files.length}`);
      if (COMPRESSIBLE.test(file)) await compress(join(next, "assets", file));
    }
    await takeOver(next, directory);
    await writeFile(join(directory, FINGERPRINT_FILE), sources);
  } finally {
    await rm(next, { recursive: true, force: true });
  }
}

/** Reports how many modules have been transformed, and when the output is written. */
function countModules(progress: (what: string) => void): Plugin {
  let modules = 0;
  return {
    name: "count-modules",
    moduleParsed() {
      modules += 1;
      if (modules % 50 === 0) progress(`reading modules: ${modules}`);
    },
    renderStart() {
      progress(`writing ${modules} modules`);
    },
  };
}

/** Forces NODE_ENV=production: otherwise the much larger development build of React would be bundled. */
async function forProduction(work: () => Promise<unknown>): Promise<void> {
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    await work();
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = before;
  }
}

/**
 * Copies the files first, then the page that names them. Files of the previous build stay until the next one,
 * for open tabs; older ones are deleted.
 */
async function takeOver(next: string, directory: string): Promise<void> {
  const assets = join(directory, "assets");
  await mkdir(assets, { recursive: true });
  const built = new Set(await readdir(join(next, "assets")));
  const before = await namedFiles(directory);
  for (const file of built) await rename(join(next, "assets", file), join(assets, file));
  // Renamed into place, so that an interrupted build leaves a complete manifest.
  await mkdir(join(directory, ".vite"), { recursive: true });
  await rename(join(next, ".vite/manifest.json"), join(directory, ".vite/manifest.json"));
  await rename(join(next, "index.html"), join(directory, "index.html"));
  for (const file of await readdir(assets)) {
    const isNeeded = built.has(file) || before.has(file.replace(COMPRESSED, ""));
    if (!isNeeded) await rm(join(assets, file));
  }
}

/**
 * Removes leftovers of interrupted builds. Folders of builds that still run are recognized by their process
 * id.
 */
async function removeLeftOver(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const [, pid] = /^next-(\d+)$/.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(directory, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Returns the names of all files that a finished build may load; empty if there is no complete build. */
async function namedFiles(directory: string): Promise<ReadonlySet<string>> {
  const manifest = await readFile(join(directory, ".vite/manifest.json"), "utf8").catch(() => "{}");
  const chunks = Object.values(readManifest(manifest));
  return new Set(
    chunks
      .flatMap(({ file, css = [], assets = [] }) => [file, ...css, ...assets])
      .map((file) => basename(file)),
  );
}

function readManifest(text: string): Record<string, ManifestChunk> {
  try {
    return JSON.parse(text) as Record<string, ManifestChunk>;
  } catch {
    return {};
  }
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  for (const [ending, compressor] of Object.entries(compressors)) {
    await writeFile(`${file}${ending}`, await compressor(content));
  }
}

function brotliOf(content: Buffer): Promise<Buffer> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  return promisify(brotliCompress)(content, { params });
}
