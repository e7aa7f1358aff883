import type { ReactNode } from "react";
import { Picker } from "../design/picker.tsx";
import { useModels } from "./use-models.ts";

/** Chooses the model of a conversation. `model` is the one in force, `null` for the App's default. */
export function ModelPicker({
  sessionId,
  model,
  onPick,
}: {
  readonly sessionId: string | null;
  readonly model: string | null;
  readonly onPick: (model: string) => void;
}): ReactNode {
  const { models } = useModels(sessionId);
  const current = model ?? models[0];
  if (current === undefined) return null;
  // One that has left the configuration is still what the conversation says.
  const choices = models.includes(current) ? models : [current, ...models];
  return <Picker label="Model" value={current} choices={choices} onPick={onPick} />;
}
