import type { ChatOutcome } from "../../core/commands/chat.ts";
import type { StartedTurn } from "../../core/turn.ts";

/** Returns a just started turn with the given overrides. */
export function startedTurn(turn: Partial<StartedTurn> = {}): StartedTurn {
  return {
    sessionId: "00000000-0000-4000-8000-000000000001",
    sessionKey: 1,
    number: 1,
    epoch: 1,
    incarnation: "incarnation",
    app: "default",
    model: "test/scripted",
    attempt: 1,
    stepsDone: 0,
    ranMs: 0,
    userText: "Hello",
    agentMessage: {
      position: 2,
      id: "agent",
      turn: 1,
      role: "assistant",
      content: "",
      status: "streaming",
      toolCalls: [],
      toolResults: [],
      createdAt: 0,
    },
    isSteered: false,
    openCalls: [],
    clientId: null,
    options: {},
    publicKey: null,
    walletId: null,
    walletProved: false,
    userState: null,
    ...turn,
  };
}

/** Returns the outcome of an accepted chat, whose turn has started, waits for a slot, or waits behind its session's previous turn. */
export function acceptedChat(turn: StartedTurn | "slot" | "session"): ChatOutcome {
  const started = typeof turn === "string" ? null : turn;
  return { kind: "accepted", turn: 1, started, runnable: turn === "slot", wantsTitle: false };
}
