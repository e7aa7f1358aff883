// Files that messages bring. They are JSON, because that is what the client of these runs sends.

import { createHash } from "node:crypto";
import type { Attachment, Message } from "@colloquy/protocol";
import type { Answer } from "./harness/http-request.ts";
import type { Random } from "./harness/random.ts";

/** Maximum length of a file's text; some take several writes. */
const LONGEST = 200_000;

interface NewFile {
  readonly name: string;
  readonly text: string;
}

export interface SentFile extends NewFile {
  readonly id: string;
}

export function newFile(random: Random): NewFile {
  const id = random.uuid();
  const length = random.chance(0.1) ? LONGEST : random.integer(0, 2_000);
  return { name: `Datei ${id}.json`, text: JSON.stringify({ id, text: "ä".repeat(length) }) };
}

/** Checks that a message of a snapshot has the file it was sent with. */
export function checkAttached(file: SentFile, message: Message, report: (detail: string) => void): void {
  const [attachment, ...more] = message.attachments ?? [];
  const bytes = Buffer.from(file.text);
  if (
    attachment === undefined ||
    more.length > 0 ||
    attachment.id !== file.id ||
    attachment.name !== file.name ||
    attachment.bytes !== bytes.length ||
    attachment.sha256 !== sha256Of(bytes)
  ) {
    report(`has other files than ${file.name}: ${JSON.stringify(message.attachments ?? [])}`);
  }
}

/** Checks that a download has the bytes that the message states. */
export function checkFile(attachment: Attachment, answer: Answer, report: (detail: string) => void): void {
  if (answer.status !== 200)
    report(`the download is answered ${answer.status}: ${answer.body.slice(0, 300)}`);
  else if (sha256Of(Buffer.from(answer.body)) !== attachment.sha256) report("the download has other bytes");
}

function sha256Of(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
