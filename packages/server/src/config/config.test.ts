import { expect, it } from "vitest";
import { type Config, restartWarnings } from "./config.ts";
import { loadConfig } from "./load-config.ts";

it("warns of each setting that needs a restart, and of no setting that a reload applies", async () => {
  const loaded = await loadConfig({ environment: {}, workingDirectory: "/nowhere" });
  if (!loaded.ok) throw new Error("The defaults must be right");
  const { config } = loaded;
  const next: Config = {
    ...config,
    server: { ...config.server, corsOrigins: ["https://x.test"], walletListing: "off" },
    limits: { ...config.limits, maxSteps: 3 },
    retention: { ...config.retention, eventMs: 1 },
    providers: { ...config.providers, openai: { kind: "openai", maxRunningTurns: 2, contextWindow: 4_000 } },
    apps: { ...config.apps, more: config.apps["default"]! },
  };
  expect(restartWarnings(config, config)).toEqual([]);
  const settings = ["cors.origins", "walletListing", "limits.maxSteps", "retention.eventMs"];
  expect(restartWarnings(config, next)).toEqual(
    [...settings, "providers.openai.maxRunningTurns"].map(
      (setting) =>
        `${setting} has changed. Restart the service to apply it; until then the old value stays in force.`,
    ),
  );
});
