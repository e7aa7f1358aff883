// The address of a service that a command talks with, and what its failures say of that service.

import { ColloquyError } from "@colloquy/client";
import { CommandFailure } from "./command.ts";

/** The address of a service as it is given with --url, without what is behind its path. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(`Colloquy: --url: ${text} is no address such as https://chat.example.com.`, 2);
  }
  if (url.username !== "" || url.password !== "") {
    throw new CommandFailure(
      "Colloquy: --url: Leave user and password out; keys stand in the environment.",
      2,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Whether a failure says that there is no such session. Of another 404 nobody knows that: a service without administration answers so. */
export function saysAbsent(error: unknown): boolean {
  return error instanceof ColloquyError && ["session_not_found", "session_deleted"].includes(error.code);
}

/** What to do about a failure when it is the service itself that is not there; else the failure as it is. */
export function explainedAt(url: string, error: unknown): unknown {
  switch (error instanceof ColloquyError ? error.code : null) {
    case "network_failed":
    case "timeout":
      return new CommandFailure(
        `Colloquy: Nothing answers at ${url}. Look at the address, or start the service there.`,
      );
    case "http_error":
    case "answer_invalid":
      return new CommandFailure(`Colloquy: What answers at ${url} is no Colloquy. Look at the address.`);
    default:
      return error;
  }
}
