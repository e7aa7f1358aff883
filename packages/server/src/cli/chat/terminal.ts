// Puts the terminal into raw mode for a conversation and restores it afterwards.

import { emitKeypressEvents } from "node:readline";
import type { ExitCode, HostProcess } from "../command.ts";
import { LineEditor } from "./line-editor.ts";

export interface TerminalListener {
  /** Ctrl-C while no line is edited. */
  readonly onInterrupt: () => void;
  /** The process received SIGTERM or SIGHUP, or the terminal was closed. */
  readonly onEnd: (code: ExitCode) => void;
}

/** Bracketed paste: the terminal marks pasted text. */
const ENABLE_BRACKETED_PASTE = "\u001B[?2004h";
const DISABLE_BRACKETED_PASTE = "\u001B[?2004l";
/** If the process still runs after this many milliseconds, it was not stopped. */
const STOP_TIMEOUT_MS = 200;

export class Terminal {
  readonly editor: LineEditor;
  readonly #host: HostProcess;
  readonly #listener: TerminalListener;

  constructor(host: HostProcess, listener: TerminalListener) {
    this.#host = host;
    this.#listener = listener;
    this.editor = new LineEditor(host.stdout, {
      onInterrupt: listener.onInterrupt,
      onSuspend: () => this.#suspend(),
    });
  }

  open(): void {
    const { stdin } = this.#host;
    this.#enterRawMode();
    emitKeypressEvents(stdin);
    stdin.on("keypress", this.editor.take);
    // An earlier question has paused the input.
    stdin.resume();
    stdin.on("end", this.#onGone);
    stdin.on("error", this.#onGone);
    // Never removed, because the last write may fail after `close`.
    this.#host.stdout.on("error", this.#onGone);
    this.#host.on("SIGINT", this.#onSignal);
    this.#host.on("SIGTERM", this.#onGone);
    this.#host.on("SIGHUP", this.#onGone);
    this.#host.on("exit", this.#restore);
  }

  /** Restores the terminal. */
  close(): void {
    const { stdin } = this.#host;
    stdin.off("keypress", this.editor.take);
    stdin.off("end", this.#onGone);
    stdin.off("error", this.#onGone);
    this.#host.off("SIGINT", this.#onSignal);
    this.#host.off("SIGTERM", this.#onGone);
    this.#host.off("SIGHUP", this.#onGone);
    this.#host.off("exit", this.#restore);
    this.#restore();
    stdin.pause();
  }

  readonly #onSignal = (): void => this.#listener.onInterrupt();
  readonly #onGone = (): void => this.#listener.onEnd(143);

  #enterRawMode(): void {
    this.#host.stdin.setRawMode(true);
    this.#host.stdout.write(ENABLE_BRACKETED_PASTE);
  }

  readonly #restore = (): void => {
    try {
      this.#host.stdin.setRawMode(false);
      this.#host.stdout.write(DISABLE_BRACKETED_PASTE);
    } catch {
      // The terminal is already closed.
    }
  };

  /** Ctrl-Z: hands the terminal to the shell until the process is continued. */
  #suspend(): void {
    this.editor.hide();
    this.#restore();
    const onContinue = (): void => {
      this.#host.off("SIGCONT", onContinue);
      clearTimeout(unstopped);
      this.#enterRawMode();
      // Makes Node read the terminal size again: the process missed SIGWINCH while it was stopped.
      this.#host.kill(this.#host.pid, "SIGWINCH");
      this.editor.show();
    };
    // An orphaned process group is not stopped, because no shell could continue it.
    const unstopped = setTimeout(onContinue, STOP_TIMEOUT_MS);
    this.#host.on("SIGCONT", onContinue);
    // Stop the whole process group, as the terminal would: npx waits for us, and the shell for npx.
    this.#host.kill(0, "SIGTSTP");
  }
}
