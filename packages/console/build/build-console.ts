import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build, type InlineConfig } from "vite";
import { fingerprint, FINGERPRINT_FILE } from "./fingerprint.ts";

const ROOT = join(import.meta.dirname, "..");
const compressors = { ".gz": promisify(gzip), ".br": brotliOf };
/** Pictures and fonts that are compressed already gain nothing. */
const COMPRESSIBLE = /\.(?:js|css|svg)$/;
const COMPRESSED = /\.(?:gz|br)$/;

/** What Vite's manifest says of a chunk, as far as it matters here. */
interface ManifestChunk {
  readonly file: string;
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

/**
 * Builds the console into `directory`. A server that serves it meanwhile has the old page until the new one is whole.
 * `settings` go before those of vite.config.ts, for tests.
 */
export async function buildConsole(directory: string, settings: InlineConfig = {}): Promise<void> {
  const sources = await fingerprint();
  const next = join(directory, `next-${process.pid}`);
  await removeLeftOver(directory);
  try {
    await forProduction(() =>
      build({
        root: ROOT,
        logLevel: "warn",
        ...settings,
        build: { ...settings.build, outDir: next, emptyOutDir: true },
      }),
    );
    const files = await readdir(join(next, "assets"));
    for (const file of files) if (COMPRESSIBLE.test(file)) await compress(join(next, "assets", file));
    await takeOver(next, directory);
    await writeFile(join(directory, FINGERPRINT_FILE), sources);
  } finally {
    await rm(next, { recursive: true, force: true });
  }
}

/** React is another one, and much larger, where the environment says something else: in a test, or in the shell of a developer. */
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
 * First the files, then the page that names them. What the page before it named stays until the next build, for tabs that are open; what
 * is older goes.
 */
async function takeOver(next: string, directory: string): Promise<void> {
  const assets = join(directory, "assets");
  await mkdir(assets, { recursive: true });
  const built = new Set(await readdir(join(next, "assets")));
  const before = await namedFiles(directory);
  for (const file of built) await rename(join(next, "assets", file), join(assets, file));
  // Renamed, so that whoever ends this in the middle leaves a whole one.
  await mkdir(join(directory, ".vite"), { recursive: true });
  await rename(join(next, ".vite/manifest.json"), join(directory, ".vite/manifest.json"));
  await rename(join(next, "index.html"), join(directory, "index.html"));
  for (const file of await readdir(assets)) {
    const isNeeded = built.has(file) || before.has(file.replace(COMPRESSED, ""));
    if (!isNeeded) await rm(join(assets, file));
  }
}

/** What builds that were ended have left behind. Another one that runs at this moment is told by its process. */
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
    // It runs for somebody else.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The files that a finished build loads at some time, by their names; none where there is no build, or half of one. */
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
