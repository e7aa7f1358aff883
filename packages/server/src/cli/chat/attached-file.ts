// Files of the user's disk that go with a message.

import { openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { Attachment, LiveSession } from "@colloquy/client";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";
import { CommandFailure } from "../command.ts";

/** Uploads a file for a message of the session; the service detects its type. Rejects with a `CommandFailure` if it cannot be read. */
export async function attachFile(
  session: LiveSession,
  path: string,
  signal?: AbortSignal,
): Promise<Attachment> {
  return await session.upload(await openedFile(path), { name: basename(path), signal });
}

async function openedFile(path: string): Promise<Blob> {
  const advice = "Choose another file.";
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new CommandFailure(`Colloquy: ${path} is not a file. ${advice}`);
    return await openAsBlob(path);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(describeFileError(`Colloquy: The file ${path}`, error, advice));
  }
}

/** Returns the path in an entry: terminals quote or escape the path of a file that is dropped on them. */
export function enteredPath(entry: string): string {
  const quoted = /^(["'])(.*)\1$/s.exec(entry)?.[2];
  const path = quoted ?? entry.replaceAll(/\\(.)/gs, "$1");
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}
