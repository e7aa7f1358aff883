// Programs of the machine that some tests need and npm does not have.

import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** Where administrators' programs are, which the path of others does not name. */
const FOR_ADMINISTRATORS = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/** The path of a program, `null` when this machine does not have it. */
export async function findProgram(name: string): Promise<string | null> {
  for (const folder of [...(process.env["PATH"] ?? "").split(delimiter), ...FOR_ADMINISTRATORS]) {
    const path = join(folder, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return null;
}

/** Whether tests that need the program are left out: where it is missing, but never where everything has to be tried. */
export async function isWithout(name: string): Promise<boolean> {
  return process.env["CI"] === undefined && (await findProgram(name)) === null;
}
