import type { Readiness } from "../../core/ports/driving/services.ts";

export class InMemoryReadiness implements Readiness {
  stopping = false;
  refusesWork = false;
  wrong: string[] = [];

  async problems(): Promise<readonly string[]> {
    return this.wrong;
  }
}
