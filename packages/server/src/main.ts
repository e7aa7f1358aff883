// The edge of the process: arguments, configuration, signals and exit codes. Everything else is built in wiring/. Exit codes: 0 stopped on
// request, 1 could not start or had to end, 2 wrong arguments or configuration.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";
import { parseEnv } from "node:util";
import type { LocalStore, LocalStoreSettings, DatabaseNeed } from "./wiring/local-store.ts";
import type { ExitCode, Overrides, ServeMode } from "./cli/command.ts";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import type { LoadedConfig } from "./config/load-config.ts";
import type { Config } from "./config/config.ts";
import type { Log } from "./wiring/logging.ts";
import type { ReadFiles } from "./wiring/development.ts";
import type { buildServer, ColloquyServer } from "./wiring/server.ts";
import {
  codeOf,
  explainFewFiles,
  explainIgnored,
  explainStartFailure,
  isDefect,
  welcome,
} from "./wiring/start-messages.ts";

// Must precede every other import: halves the start time. Commands import code that only they need.
enableCompileCache();
const parameters = process.argv.slice(2);
const isService = ["serve", "dev", undefined].includes(parameters[0]);
// Of the two processes of `colloquy dev`, only the service's reads `.env`.
const isWatched = parameters[0] === "dev" && parameters.includes("--watched");
const isWatching = parameters[0] === "dev" && !isWatched;
// Disable SIGUSR1, which opens a debugger for every user of the machine by default. `--inspect` still works.
process.on("SIGUSR1", () => undefined);
const { default: packageFile } = await import("../package.json", { with: { type: "json" } });

/** Grace period for running turns in milliseconds (contract section 7). */
const GRACE_MS = 20_000;
/** npm forwards a signal that the terminal has sent to both processes. Only a signal after this time counts as the second one. */
const SAME_SIGNAL_MS = 100;
const LAST_LINE_MS = 1_000;
/** Fields `env_start` and `env_end` of /proc/self/stat (proc(5)), counted from 0 after the program name. */
const [ENV_START, ENV_END] = [47, 48];
const BLOCK_STAYS =
  "The environment of this process can be read in /proc by the MCP servers that it starts, because /proc/self/mem cannot be written here. Give it secrets in files: COLLOQUY_ADMIN_KEY_FILE and so on.";
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;
type Starting = Promise<{ readonly server: ColloquyServer }>;

const isBlockCleared = clearEnvironmentBlock();
if (!isWatching) readEnvironmentFile();
await useProxies(process.env);
process.exitCode = parameters.length === 0 ? await serve({}) : await runCommand(parameters);
if (!isService || process.exitCode !== 0) await endWhenWritten();

async function runCommand(given: readonly string[]): Promise<ExitCode> {
  const { runCommandLine } = await import("./cli/run.ts");
  process.stdout.on("error", endWithOutput);
  return runCommandLine(given, {
    version: packageFile.version,
    output: process.stdout,
    errors: process.stderr,
    columns: process.stdout.isTTY ? process.stdout.columns : null,
    environment: process.env,
    host: process,
    serve: (overrides, mode) => (mode === "dev" ? watchAndServe() : serve(overrides, mode)),
    loadConfig: () => readConfig(process.env),
    localServices: () => import("./wiring/local-service.ts"),
    openLocalStore,
  });
}

async function readConfig(environment: Environment): Promise<LoadedConfig> {
  const [{ loadConfig }, { inspections }] = await Promise.all([
    import("./config/load-config.ts"),
    import("@colloquy/engine/internal/wiring/inspections"),
  ]);
  process.on("exit", reportExitDuringRead);
  try {
    const workingDirectory = process.cwd();
    return await loadConfig({ environment, workingDirectory, inspections });
  } finally {
    process.off("exit", reportExitDuringRead);
  }
}

/** Reports a configuration file that calls process.exit. */
function reportExitDuringRead(): void {
  process.exitCode = 2;
  console.error(
    "Colloquy: The configuration file ended the process while it was read. Take process.exit, and errors that nothing catches, out of it and out of what it imports.",
  );
}

/** Must precede every request. Invalid variables are reported with the configuration. */
async function useProxies(environment: Environment): Promise<void> {
  if (!Object.keys(environment).some((name) => /^https?_proxy$/i.test(name))) return;
  const [{ readEnvironment }, { useProxies: sendThrough }] = await Promise.all([
    import("./config/environment.ts"),
    import("./wiring/proxies.ts"),
  ]);
  sendThrough(readEnvironment(environment, process.cwd()).proxies);
}

/** Reads of the configuration file only its backend, so that a key can be revoked even if the rest is invalid. */
async function openLocalStore(need: DatabaseNeed): Promise<LocalStore> {
  const { openLocalStore: open } = await import("./wiring/local-store.ts");
  return open(await readSettings(process.env), need);
}

async function readSettings(environment: Environment): Promise<LocalStoreSettings> {
  const [{ readBackend }, { formatProblems }, { CommandFailure }] = await Promise.all([
    import("./config/load-config.ts"),
    import("@colloquy/engine/internal/config/problem"),
    import("./cli/command.ts"),
  ]);
  const { settings, secretKey, backend, files, problems } = await readBackend(environment, process.cwd());
  if (problems.length > 0) throw new CommandFailure(formatProblems(problems), 2);
  return { ...settings, secretKey, backend, files };
}

/** Runs the service in a process of its own, and again after each change of its files. */
async function watchAndServe(): Promise<ExitCode> {
  const { runOnChanges } = await import("./wiring/development.ts");
  const command = [...process.execArgv, ...process.argv.slice(1), "--watched"];
  const code = await runOnChanges({
    start: () => spawn(process.execPath, command, { stdio: ["inherit", "inherit", "inherit", "ipc"] }),
    workingDirectory: process.cwd(),
    environmentFile: resolve(".env"),
    onSignals: (stop) => {
      for (const signal of [...Object.keys(SIGNALS), "SIGHUP"]) process.on(signal, stop);
    },
    sleep,
    say: (text) => console.log(text),
  });
  return code as ExitCode;
}

/** Resolves when the service accepts requests. The service then runs until a signal. */
async function serve(overrides: Overrides, mode: ServeMode = "serve"): Promise<ExitCode> {
  const environment = { ...process.env, ...overrides };
  const isDev = mode === "watched";
  const [loaded, { createLog }, { buildServer: build }] = await Promise.all([
    readConfig(environment),
    import("./wiring/logging.ts"),
    import("./wiring/server.ts"),
  ]);
  const canBeMended = loaded.ok || loaded.problems.every(({ source }) => source !== "environment");
  if (isDev && canBeMended) process.send?.({ files: [...loaded.files] } satisfies ReadFiles);
  if (!loaded.ok) {
    const [{ formatProblems }, { nameOptions }] = await Promise.all([
      import("@colloquy/engine/internal/config/problem"),
      import("./cli/serve.ts"),
    ]);
    console.error(formatProblems(nameOptions(loaded.problems, overrides)));
    if (isDev && canBeMended) console.error("Colloquy starts when they are fixed.");
    return 2;
  }
  const { config, warnings } = loaded;
  const isTerminal = process.stdout.isTTY;
  const log = createLog({ level: config.server.logLevel, destination: 1, readable: isTerminal || isDev });
  for (const warning of warnings) log.logger.warn({}, warning);
  const fewFiles = explainFewFiles();
  if (fewFiles !== null) log.logger.warn({}, fewFiles);
  if (!isBlockCleared && process.platform === "linux") log.logger.warn({}, BLOCK_STAYS);
  endOnDefects(log);

  const started = start(build, config, log);
  stopOnSignals(started, log, isDev ? 0 : GRACE_MS);
  const { server, url } = await started;
  // Logged at any level, because with PORT=0 nothing else shows the address.
  const announcement = { address: url, version: packageFile.version, node: process.version };
  log.logger.child({}, { level: "info" }).info(announcement, "listening");
  if (isTerminal || isDev) console.log(welcome(url, config, server));
  return 0;
}

/**
 * Moves the environment variables to other memory and overwrites the block in which the process received them. Linux shows that block in
 * /proc/<pid>/environ to every program of the same user, such as MCP servers, even after variables were changed. Returns false if the block
 * is still readable. Must be called before anything else reads variables.
 */
function clearEnvironmentBlock(): boolean {
  // setenv(3) moves a variable even if its value stays the same.
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) process.env[name] = value;
  try {
    const status = readFileSync("/proc/self/stat", "latin1");
    // The program name may contain anything, even parentheses.
    const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
    const [start, end] = [Number(fields[ENV_START]), Number(fields[ENV_END])];
    if (end > start) overwriteMemory(start, end - start);
    return /^\0*$/.test(readFileSync("/proc/self/environ", "latin1"));
  } catch {
    // The system is not Linux, or /proc/self/mem is protected.
    return false;
  }
}

function overwriteMemory(start: number, length: number): void {
  const memory = openSync("/proc/self/mem", "r+");
  try {
    writeSync(memory, Buffer.alloc(length), 0, length, start);
  } finally {
    closeSync(memory);
  }
}

/** Reads .env in the working directory; variables that are set take precedence. */
function readEnvironmentFile(): void {
  try {
    const text = readFileSync(".env", "utf8").replace(/^\uFEFF/, "");
    for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    console.error(`Colloquy: ${explainIgnored(resolve(".env"), error)}`);
  }
}

/** Ends the process on a defect, because its state is unknown; its work is in the store. */
function endOnDefects(log: Log): void {
  process.on("uncaughtException", (error, origin) => {
    log.logger.fatal({ err: error, origin }, "The process ends because of a defect");
    end(log, 1);
  });
}

async function start(
  build: typeof buildServer,
  config: Config,
  log: Log,
): Promise<{ readonly server: ColloquyServer; readonly url: string }> {
  const onFatal = (error: Error): void => {
    log.logger.fatal({ err: error }, "The process ends because its store cannot be trusted any more");
    end(log, 1);
  };
  try {
    const { logger, linesLeftOut: logLinesLeftOut, useHandles } = log;
    const parts = { logger, logLinesLeftOut, useHandles, onFatal, processId: process.pid };
    const server = await build(config, parts);
    return { server, ...(await server.listen()) };
  } catch (error) {
    console.error(`Colloquy cannot start: ${explainStartFailure(error, config)}`);
    if (isDefect(error)) log.logger.fatal({ err: error }, "The service could not start");
    return end(log, 1);
  }
}

function stopOnSignals(started: Starting, log: Log, graceMs: number): void {
  let first: number | null = null;
  const stop = async (signal: string): Promise<never> => {
    log.logger.info({ signal, graceMs }, "stopping");
    const { server } = await started;
    await server.stop({ graceMs });
    log.logger.info({}, "stopped");
    // Bounded, because the reader of the log may be stuck.
    await Promise.race([log.drained(), new Promise((resolve) => setTimeout(resolve, LAST_LINE_MS))]);
    return end(log, 0);
  };
  // The process of `colloquy dev` that watches has ended.
  if (isWatched) process.on("disconnect", () => void stop("disconnect"));
  // Without a terminal whose end it could be, the signal means nothing: service managers of before sent it to
  // reload the configuration.
  if (!isatty(0) && !isatty(1))
    process.on("SIGHUP", () => log.logger.warn({}, "SIGHUP changes nothing. Restart the service."));
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      if (first === null) {
        first = performance.now();
        void stop(signal);
      } else if (performance.now() - first > SAME_SIGNAL_MS) {
        end(log, exitCode);
      }
    });
  }
}

function end(log: Log, code: number): never {
  process.off("exit", reportExitDuringRead);
  // A log write that hangs (a stopped terminal) would block the exit forever.
  if (!log.flush()) process.kill(process.pid, "SIGKILL");
  process.exit(code);
}

/** Ignores EPIPE: the reader has read enough (colloquy export … | head). Anything else is a failure. */
function endWithOutput({ code, message }: NodeJS.ErrnoException): never {
  if (code === "EPIPE") process.exit(0);
  console.error(`Colloquy: The output cannot be written: ${message}`);
  return process.exit(1);
}

/** Ends the process when its output is written, even if the configuration file left a timer or a connection open. */
async function endWhenWritten(): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise((resolve) => stream.write("", resolve));
  }
  process.exit();
}
