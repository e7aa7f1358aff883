import type { ReactNode } from "react";
import { Dialog } from "../design/dialog.tsx";
import { FIELD_SHORTCUTS, isApplePlatform, keyLabels, SHORTCUTS, type Keys } from "./shortcuts.ts";

/** Lists all keyboard shortcuts. */
export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="cq-shortcuts">
        {[...Object.values(SHORTCUTS), ...FIELD_SHORTCUTS].map(({ label, keys }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {keys.map((alternative, at) => (
                <span key={at} className="cq-shortcuts-keys">
                  {at > 0 && <span className="cq-shortcuts-or">or</span>}
                  <Pressed keys={alternative} />
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function Pressed({ keys }: { readonly keys: Keys }): ReactNode {
  return keyLabels(keys, isApplePlatform(navigator)).map((label) => <kbd key={label}>{label}</kbd>);
}
