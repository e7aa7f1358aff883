import type { Command } from "commander";
import type { Administration } from "../wiring/administration.ts";
import { administer, CommandFailure, type CommandParts, printJson, printLine } from "./command.ts";

type Rotation = Awaited<ReturnType<Administration["rotateMaster"]>>;

interface RotateOptions {
  readonly json?: boolean;
  readonly discardUnreadable?: boolean;
}

export function addSecretsCommand(program: Command, parts: CommandParts): void {
  const secrets = program
    .command("secrets")
    .description("manage the master key that encrypts the secrets of Apps")
    .addHelpText(
      "after",
      `
Example:
  colloquy secrets rotate-master

Users set, list and remove their secrets through /api/secrets: see docs/api.md.`,
    );
  secrets
    .command("rotate-master")
    .description("encrypt all secrets with a new master key, and retire the old one")
    .option("--json", "print one JSON document")
    .option("--discard-unreadable", "remove secrets that no key decrypts")
    .addHelpText(
      "after",
      `
Examples:
  colloquy secrets rotate-master
  colloquy secrets rotate-master --discard-unreadable    when the old key is lost for good

Works beside a running server. If interrupted, run it again: it resumes. With the key in COLLOQUY_SECRET_KEY it takes two runs, and says
what to do after each.`,
    )
    .action(async ({ json = false, discardUnreadable = false }: RotateOptions) => {
      const rotation = await administer(parts, "existing", (administration) =>
        administration.rotateMaster(discardUnreadable),
      );
      if (json) printJson(parts, asJson(rotation));
      else printLine(parts, describe(rotation));
      if (rotation.outcome === "unreadable") throw new CommandFailure(explainUnreadable(rotation));
    });
}

/** Uses the field names of the HTTP API. */
function asJson(rotation: Rotation): object {
  switch (rotation.outcome) {
    case "done": {
      const { outcome, keyId, resealed, discarded, resumed } = rotation;
      return { outcome, key_id: keyId, resealed, discarded, resumed };
    }
    case "unreadable": {
      const { outcome, keyId, resealed, unreadable } = rotation;
      const places = unreadable.map(({ app, clientId, name }) => ({ app, client_id: clientId, name }));
      return { outcome, key_id: keyId, resealed, unreadable: places };
    }
    case "key_needed":
      return { outcome: rotation.outcome, new_key: newKeyOf(rotation) };
    case "no_key":
      return rotation;
  }
}

function describe(rotation: Rotation): string {
  switch (rotation.outcome) {
    case "done": {
      const { keyId, resealed, discarded, resumed, given } = rotation;
      const begun = resumed ? "The rotation that was begun before is done" : "Done";
      const removed = discarded === 0 ? "" : `, ${counted(discarded)} removed that no key opened`;
      const next = given
        ? "Now set COLLOQUY_SECRET_KEY to the first of its keys alone, and restart every server."
        : "The old key is gone from the key file. Backups from before need it: keep it as long as them, somewhere else.";
      return `${begun}: ${counted(resealed)} sealed anew, all of them now by the master key ${keyId}${removed}.\n${next}`;
    }
    case "unreadable":
      return `${counted(rotation.resealed)} sealed anew by the master key ${rotation.keyId}. The old key is kept.`;
    case "key_needed":
      return `COLLOQUY_SECRET_KEY holds one key. Put this new key and a comma before it, leave the old key behind them, and restart every server:

  ${newKeyOf(rotation)}

Then run colloquy secrets rotate-master again, with the same variable.`;
    case "no_key":
      return "There is nothing to rotate: no secret was ever set here, so there is no master key yet.";
  }
}

/** Omits the old key, which decrypts secrets until the rotation is done: terminals and logs may keep the output. */
function newKeyOf({ secretKey }: Extract<Rotation, { readonly outcome: "key_needed" }>): string {
  return secretKey.split(",", 1).join("");
}

function explainUnreadable({ unreadable }: Extract<Rotation, { readonly outcome: "unreadable" }>): string {
  const list = unreadable.map(
    ({ app, clientId, name }) => `  - App ${app}, client ${clientId}, slot ${name}`,
  );
  return `${counted(unreadable.length)} cannot be opened, because somebody has changed the store:
${list.join("\n")}
Let their owners set them again and run this once more, or remove them with --discard-unreadable.`;
}

function counted(secrets: number): string {
  return secrets === 1 ? "1 secret" : `${secrets} secrets`;
}
