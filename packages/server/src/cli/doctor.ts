import type { Command } from "commander";
import type { Finding, Health } from "../doctor/finding.ts";
import { type CommandParts, type ExitCode, printJson, printLine } from "./command.ts";

const SIGNS: Readonly<Record<Health, string>> = {
  ok: "ok     ",
  warning: "WARNING",
  broken: "BROKEN ",
  skipped: "-      ",
};

export function addDoctorCommand(
  program: Command,
  parts: CommandParts,
  finish: (code: ExitCode) => void,
): void {
  program
    .command("doctor")
    .description("check configuration, disk, database, clock, bus and keys, and say what to fix")
    .option("--json", "print one JSON document: { ok, findings }")
    .addHelpText(
      "after",
      `
Examples:
  colloquy doctor
  colloquy doctor --json

Changes nothing and works beside a running server. Exits with 1 if something is broken, otherwise with 0, even after warnings. Prints no
keys and no passwords.`,
    )
    .action(async ({ json = false }: { readonly json?: boolean }) => finish(await examineWith(parts, json)));
}

async function examineWith(parts: CommandParts, json: boolean): Promise<ExitCode> {
  const { examine } = await import("../doctor/examine.ts");
  const findings = await examine(await parts.loadConfig());
  const isOk = findings.every(({ health }) => health !== "broken");
  if (json) printJson(parts, { ok: isOk, findings });
  else for (const finding of findings) for (const line of linesOf(finding)) printLine(parts, line);
  return isOk ? 0 : 1;
}

function linesOf({ about, health, found, mend }: Finding): readonly string[] {
  const first = `${SIGNS[health]}  ${about.padEnd("data directory".length)}  ${found}`;
  return mend === null ? [first] : [first, `${" ".repeat(27)}${mend}`];
}
