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
