import { afterEach, beforeAll, beforeEach } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";

/**
 * Starts a service for each test of a file, with an up-to-date console; without Chromium nothing is built.
 */
export function useConsoleService(): ConsoleService {
  let service: ConsoleService;
  beforeAll(async () => {
    if (!(await isWithoutChromium())) await prepareConsole();
  }, 120_000);
  beforeEach(async () => {
    service = await serveConsole();
  });
  afterEach(() => service.stop());
  return {
    get url() {
      return service.url;
    },
    get model() {
      return service.model;
    },
    get proxy() {
      return service.proxy;
    },
    get direct() {
      return service.direct;
    },
    arrive: () => service.arrive(),
    stop: () => service.stop(),
  };
}
