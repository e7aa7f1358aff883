import { expect, it } from "vitest";
import { loadConfig } from "../config/load-config.ts";
import { storeUnavailable } from "@colloquy/engine/internal/store/unavailable";
import { explainStartFailure, welcome } from "./start-messages.ts";

it("shows the URL and the models in the terminal", async () => {
  const loaded = await loadConfig({ environment: {}, workingDirectory: import.meta.dirname });
  if (!loaded.ok) throw new Error("The configuration has problems");
  const text = welcome("http://127.0.0.1:8080", loaded.config, { hasGuide: false });
  expect(text).toMatch(/Open in a browser: +http:\/\/127\.0\.0\.1:8080\/?\n/);
  expect(text).toMatch(/"http:\/\/127\.0\.0\.1:8080\/api\/chat\?message=Hello"\n/);
  expect(text).toContain("Models: demo/assistant.");
  expect(text).not.toContain("/guide");
  const installed = welcome("http://127.0.0.1:8080", loaded.config, { hasGuide: true });
  expect(installed).toMatch(/Read the guide: +http:\/\/127\.0\.0\.1:8080\/guide\/\n/);
});

it("reports the database's error when the store fails during the start", async () => {
  const loaded = await loadConfig({ environment: {}, workingDirectory: import.meta.dirname });
  if (!loaded.ok) throw new Error("The configuration has problems");
  const error = storeUnavailable(new Error('too many connections for role "colloquy"'));
  expect(explainStartFailure(error, loaded.config)).toBe(
    'the store cannot be used: too many connections for role "colloquy". Correct that, and start again.',
  );
});
