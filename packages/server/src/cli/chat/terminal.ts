// The terminal of a conversation, from the moment when its keys are read one by one until it is as it was before.

import type { ExitCode, HostProcess } from "../command.ts";
import { KeyReader } from "./key-reader.ts";
import { LineEditor } from "./line-editor.ts";

export interface TerminalListener {
  /** Ctrl-C while no line is edited. */
  readonly onInterrupt: () => void;
  /** The process was asked to end, or the terminal is gone. */
  readonly onEnd: (code: ExitCode) => void;
}

/** Lets the terminal mark what is pasted (bracketed paste). */
const MARK_PASTES = "\u001B[?2004h";
const DO_NOT_MARK_PASTES = "\u001B[?2004l";
/** Milliseconds after which a process that runs has not been stopped. */
const UNSTOPPED_MS = 200;

export class Terminal {
  readonly editor: LineEditor;
  readonly #host: HostProcess;
  readonly #keys: KeyReader;
  readonly #listener: TerminalListener;

  constructor(host: HostProcess, listener: TerminalListener) {
    this.#host = host;
    this.#listener = listener;
    this.#keys = new KeyReader({ onInterrupt: listener.onInterrupt, onSuspend: () => this.#suspend() });
    this.editor = new LineEditor(this.#keys, host.stdout);
  }

  open(): void {
    const { stdin } = this.#host;
    this.#take();
    stdin.on("data", this.#keys.take);
    stdin.on("end", this.#onGone);
    stdin.on("error", this.#onGone);
    // Stays: what was written last may fail later.
    this.#host.stdout.on("error", this.#onGone);
    this.#host.on("SIGINT", this.#onSignal);
    this.#host.on("SIGTERM", this.#onGone);
    this.#host.on("SIGHUP", this.#onGone);
    this.#host.on("exit", this.#giveBack);
  }

  /** The terminal is as it was. */
  close(): void {
    const { stdin } = this.#host;
    stdin.off("data", this.#keys.take);
    stdin.off("end", this.#onGone);
    stdin.off("error", this.#onGone);
    this.#host.off("SIGINT", this.#onSignal);
    this.#host.off("SIGTERM", this.#onGone);
    this.#host.off("SIGHUP", this.#onGone);
    this.#host.off("exit", this.#giveBack);
    this.#giveBack();
    stdin.pause();
  }

  readonly #onSignal = (): void => this.#listener.onInterrupt();
  readonly #onGone = (): void => this.#listener.onEnd(143);

  #take(): void {
    this.#host.stdin.setRawMode(true);
    this.#host.stdout.write(MARK_PASTES);
  }

  readonly #giveBack = (): void => {
    try {
      this.#host.stdin.setRawMode(false);
      this.#host.stdout.write(DO_NOT_MARK_PASTES);
    } catch {
      // It is gone itself.
    }
  };

  /** Ctrl-Z: the shell has the terminal until it lets us go on. */
  #suspend(): void {
    this.editor.hide();
    this.#giveBack();
    const onContinue = (): void => {
      this.#host.off("SIGCONT", onContinue);
      clearTimeout(unstopped);
      this.#take();
      // Lets the size be read again: while it was stopped, nobody told it that the terminal has another one.
      this.#host.kill(this.#host.pid, "SIGWINCH");
      this.editor.show();
    };
    // Where no shell could let it go on, the system does not stop it.
    const unstopped = setTimeout(onContinue, UNSTOPPED_MS);
    this.#host.on("SIGCONT", onContinue);
    // The whole group, as the terminal itself would: npx waits for us, and the shell for npx.
    this.#host.kill(0, "SIGTSTP");
  }
}
