import type { Command } from "commander";
import type { LocalStore } from "../wiring/local-store.ts";
import { administer, CommandFailure, type CommandParts, printJson, printLine } from "./command.ts";

type Rotation = Awaited<ReturnType<LocalStore["rotateMaster"]>>;

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
      const rotation = await administer(parts, "existing", (local) => local.rotateMaster(discardUnreadable));
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
      const slots = unreadable.map(({ app, clientId, name }) => ({ app, client_id: clientId, name }));
      return { outcome, key_id: keyId, resealed, unreadable: slots };
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
      const { keyId, resealed, discarded, resumed, fromOperator } = rotation;
      const done = resumed ? "The interrupted rotation is complete" : "The rotation is complete";
      const removed = discarded === 0 ? "" : `, ${counted(discarded)} removed that no key could decrypt`;
      const next = fromOperator
        ? "Now set COLLOQUY_SECRET_KEY to the first of its keys only, and restart every server."
        : "The old key is no longer in the key file. Older backups need it: keep it elsewhere as long as you keep them.";
      return `${done}: ${counted(resealed)} encrypted with the new master key ${keyId}${removed}.\n${next}`;
    }
    case "unreadable":
      return `${counted(rotation.resealed)} encrypted with the new master key ${rotation.keyId}. The old key is kept.`;
    case "key_needed":
      return `COLLOQUY_SECRET_KEY holds one key. Insert this new key and a comma before it, and restart every server:

  ${newKeyOf(rotation)}

Then run colloquy secrets rotate-master again, with the same value.`;
    case "no_key":
      return "There is nothing to rotate: no secret has been set yet, so there is no master key.";
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
  return `${counted(unreadable.length)} cannot be decrypted, because the store was changed:
${list.join("\n")}
Let their owners set them again and repeat the command, or remove them with --discard-unreadable.`;
}

function counted(secrets: number): string {
  return secrets === 1 ? "1 secret" : `${secrets} secrets`;
}
