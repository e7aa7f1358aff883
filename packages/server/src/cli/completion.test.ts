import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { isWithout } from "../../test/programs.ts";
import { recordedRun } from "./testing/recorded-run.ts";

const run = promisify(execFile);

async function script(shell: string): Promise<string> {
  const { code, output, errors } = await recordedRun(["completion", shell]);
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  return output;
}

/** Returns the completions that bash offers for the last word of the line. */
async function offered(line: string): Promise<readonly string[]> {
  const words = line.split(" ");
  const { stdout } = await run("bash", [
    "--norc",
    "-c",
    `${await script("bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _colloquy; printf '%s\\n' "\${COMPREPLY[@]}"`,
    "bash",
    ...words,
  ]);
  return stdout.split("\n").filter((word) => word !== "");
}

describe("completion in bash", () => {
  it("offers all commands and subcommands", async () => {
    const commands = await offered("colloquy ");
    expect(commands).toEqual(
      expect.arrayContaining([
        "serve",
        "chat",
        "sessions",
        "keys",
        "check",
        "doctor",
        "completion",
        "--version",
      ]),
    );
    expect(await offered("colloquy se")).toEqual(["serve", "sessions", "seed", "secrets"]);
    expect(await offered("colloquy sessions ")).toEqual(
      expect.arrayContaining(["list", "show", "export", "delete", "--help"]),
    );
  });

  it("offers options, their values and the values of arguments", async () => {
    expect(await offered("colloquy chat --s")).toEqual(["--session"]);
    expect(await offered("colloquy sessions list --status p")).toEqual(["processing"]);
    expect(await offered("colloquy sessions list --status processing --l")).toEqual(["--limit"]);
    expect(await offered("colloquy keys create --e")).toEqual(["--expires"]);
    expect(await offered("colloquy completion ")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
    expect(await offered("colloquy import README.m")).toEqual(["README.md"]);
    expect(await offered("colloquy import --rep")).toEqual(["--replace"]);
  });
});

describe.each(["zsh", "fish"])("completion in %s", async (shell) => {
  it("contains every command and option of the bash script", async () => {
    const made = await script(shell);
    const { output } = await recordedRun(["sessions", "list", "--help"]);
    const options = [...output.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)].map(([, name = ""]) => name);
    expect(options).toEqual(expect.arrayContaining(["app", "status", "limit", "json", "help"]));
    for (const word of [...options, "serve", "rotate-master", "processing"]) expect(made).toContain(word);
  });

  it.skipIf(await isWithout(shell))("is understood by it", async () => {
    const made = await script(shell);
    if (shell === "fish") {
      const { stdout } = await run("fish", [
        "-N",
        "-c",
        `${made}\ncomplete -C 'colloquy sessions list --status p'`,
      ]);
      expect(stdout).toMatch(/^processing/);
    } else {
      await run("zsh", [
        "-f",
        "-c",
        `autoload -Uz compinit && compinit -u -D\n${made}\nwhence -w _colloquy_sessions_list`,
      ]);
    }
  });
});

it("rejects an unknown shell", async () => {
  expect(await recordedRun(["completion", "csh"])).toMatchObject({
    code: 2,
    errors: expect.stringMatching(/Allowed choices are bash, zsh, fish/) as string,
  });
});
