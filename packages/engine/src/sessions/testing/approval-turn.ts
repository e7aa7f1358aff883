// A turn whose tool calls need approval, in a service that a test can crash.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { BeforeCall } from "../../../../server/test/intercepted-store.ts";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { newId, startService, until, type TestService } from "../../../../server/test/service.ts";
import type { Config } from "../../../../server/src/config/config.ts";

export const MINUTE = 60_000;

export class ApprovalTurn {
  readonly id = newId();
  readonly clock = new ManualClock();
  service!: TestService;
  /** Inputs of the runs of the tool with side effects. */
  charged: unknown[] = [];
  /** Gate of the tool with side effects and of the slow tool. */
  gate: Promise<unknown> = Promise.resolve();
  /** Names of store calls since the last start. */
  calls: string[] = [];
  lost: BeforeCall = () => undefined;
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(): Promise<ApprovalTurn> {
    const turn = new ApprovalTurn(await mkdtemp(join(tmpdir(), "colloquy-")));
    await turn.start();
    return turn;
  }

  async close(): Promise<void> {
    await this.service.close();
    await rm(this.#directory, { recursive: true });
  }

  async start(limits: Partial<Config["limits"]> = {}): Promise<void> {
    this.calls = [];
    this.lost = () => undefined;
    this.service = await startService({
      directory: this.#directory,
      clock: this.clock,
      beforeCall: (method, parameters) => {
        this.calls.push(method);
        return this.lost(method, parameters);
      },
      adjust: (config) => ({
        ...config,
        limits: { ...config.limits, ...limits },
        apps: { default: this.#withTools(config.apps["default"]!) },
      }),
    });
  }

  async restart(limits: Partial<Config["limits"]> = {}): Promise<void> {
    await this.service.crash();
    await this.start(limits);
  }

  readonly snapshot = () => this.service.snapshot(this.id);
  readonly idle = async (): Promise<boolean> => !(await this.snapshot()).is_processing;
  readonly pending = async () => (await this.snapshot()).pending_actions;

  async decide(decision: "approve" | "deny"): Promise<unknown> {
    const [action] = await this.pending();
    return await this.service.actions.decide(this.id, action!.id, { decision, result: null }, null);
  }

  /** Starts a turn that calls the tool with side effects, and returns when it waits for a decision. */
  async waiting(): Promise<void> {
    const { id, service } = this;
    await service.say(id, "charge me");
    const call = await service.model.next();
    call.say("Let me see.").callTool("charge", { amount: 7 }, "c1").finish("tool-calls");
    await until(() => this.calls.includes("wait"));
    await until(() => service.registry.inMemory(id)?.hasPendingActions !== false);
    await service.store.probe();
  }

  /** Lets the model answer, and returns the tool results that the model received. */
  async resultTold(): Promise<string> {
    const call = await this.service.model.next();
    const told = call.prompt.at(-1) ?? "";
    call.say("Done.").finish();
    await until(this.idle);
    return told;
  }

  /**
   * Returns an App with a tool with side effects and the calculator, which both need approval, and a slow
   * tool, which does not.
   */
  #withTools(app: Config["apps"][string]): Config["apps"][string] {
    const charge = {
      description: "Charges a card",
      inputSchema: z.object({ amount: z.number() }),
      execute: async (input: { amount: number }) => {
        this.charged.push(input);
        await this.gate;
        return { charged: input.amount };
      },
    };
    const slow = {
      description: "Takes its time",
      inputSchema: z.object({}),
      execute: async () => {
        await this.gate;
        return "at last";
      },
    };
    const approvals = { charge: "always", calculator: "always" } as const;
    const effects = { charge: "unsafe", slow: "read" } as const;
    return { ...app, tools: { ...app.tools, own: { charge, slow }, effects, approvals } };
  }
}
