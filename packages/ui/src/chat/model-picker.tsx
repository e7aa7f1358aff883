import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { Picker } from "../design/picker.tsx";
import type { Models } from "./use-models.ts";

/** Selects the model of a conversation. `model` is the current one, `null` for the App's default. */
export function ModelPicker({
  known: { models, isFailed, refetch },
  model,
  onPick,
}: {
  readonly known: Models;
  readonly model: string | null;
  readonly onPick: (model: string) => void;
}): ReactNode {
  const current = model ?? models[0];
  if (isFailed)
    return (
      <Button size="small" look="quiet" onClick={refetch}>
        Models did not load. Try again
      </Button>
    );
  if (current === undefined) return null;
  // A model that was removed from the configuration is still the conversation's model.
  const choices = models.includes(current) ? models : [current, ...models];
  return <Picker label="Model" value={current} choices={choices} onPick={onPick} />;
}
