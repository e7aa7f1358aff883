// URLs of remote services and messages for their connection errors.

import { ColloquyError } from "@colloquy/client";
import { CommandFailure } from "./command.ts";

/** Returns the base URL given with --url, without query and fragment. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(`Colloquy: --url: ${text} is not a URL such as https://chat.example.com.`, 2);
  }
  if (url.username !== "" || url.password !== "") {
    throw new CommandFailure(
      "Colloquy: --url: Remove user and password; set keys in environment variables.",
      2,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Returns true if the session does not exist. Other 404 answers do not say that: a service without admin API sends them too. */
export function isSessionNotFound(error: unknown): boolean {
  return error instanceof ColloquyError && ["session_not_found", "session_deleted"].includes(error.code);
}

/** Returns a message for the user if the service itself cannot be reached, otherwise the error unchanged. */
export function describeConnectionError(url: string, error: unknown): unknown {
  switch (error instanceof ColloquyError ? error.code : null) {
    case "network_failed":
    case "timeout":
      return new CommandFailure(
        `Colloquy: Nothing answers at ${url}. Check the URL, or start the service there.`,
      );
    case "http_error":
    case "answer_invalid":
      return new CommandFailure(`Colloquy: The server at ${url} is not Colloquy. Check the URL.`);
    default:
      return error;
  }
}
