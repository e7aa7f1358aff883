// A store whose calls a test intercepts, to count, delay or fail them.

import type { Selection, SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import { OutcomeUnknown } from "@colloquy/engine/internal/core/errors";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";

/** Called before each call: with the kind of a command or selection, such as `chat`, or a method, such as `sessions.find`. The call is made when the promise resolves, and fails as it rejects or throws. */
export type BeforeCall = (method: string, parameters: readonly unknown[]) => Promise<void> | undefined;

export function interceptStore(store: Store, before: BeforeCall): Store {
  const intercept = <Aggregate extends object>(name: string, aggregate: Aggregate): Aggregate =>
    new Proxy(aggregate, {
      get: (target, key) => {
        const method = Reflect.get(target, key) as (...parameters: unknown[]) => Promise<unknown>;
        return (...parameters: unknown[]): Promise<unknown> =>
          interceptedCall(before, `${name}.${String(key)}`, parameters, () => method(...parameters));
      },
    });
  return {
    execute: (command) => interceptedCall(before, command.kind, [command], () => store.execute(command)),
    executeEach: (selection) =>
      interceptedCall(before, selection.kind, [selection], () => store.executeEach(selection)),
    sessions: intercept("sessions", store.sessions),
    turns: intercept("turns", store.turns),
    actions: intercept("actions", store.actions),
    events: intercept("events", store.events),
    jobs: intercept("jobs", store.jobs),
    keys: intercept("keys", store.keys),
    users: intercept("users", store.users),
    secrets: intercept("secrets", store.secrets),
    admin: intercept("admin", store.admin),
    audit: intercept("audit", store.audit),
    feedback: intercept("feedback", store.feedback),
    search: intercept("search", store.search),
    files: intercept("files", store.files),
    probe: () => store.probe(),
    purge: () => store.purge(),
    close: () => store.close(),
  };
}

function interceptedCall<Answer>(
  before: BeforeCall,
  name: string,
  parameters: readonly unknown[],
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    const held = before(name, parameters);
    return held === undefined ? call() : held.then(call);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Loses the answer of the next command or selection of this kind: it is committed, and the caller gets `OutcomeUnknown`. */
export function losingAnswerOf(method: string, store: Store): BeforeCall {
  let isLost = false;
  const answered = async (parameters: readonly unknown[]): Promise<void> => {
    const [command] = parameters;
    if (method === "claimTurns" || method === "expireActions") await store.executeEach(command as Selection);
    else await store.execute(command as SessionCommand);
    throw new OutcomeUnknown(503, "outcome_unknown", "Look at what arrived.", 1);
  };
  return (called, parameters) => {
    if (called !== method || isLost) return undefined;
    isLost = true;
    return answered(parameters);
  };
}
