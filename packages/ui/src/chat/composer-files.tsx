import { useAui, useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";
import { IconButton } from "../design/button.tsx";
import { RotateCw, X } from "../design/icons.tsx";
import { sizeText } from "./size-text.ts";

/** Files of the next message, with their upload state and buttons to remove or retry them. */
export function ComposerFiles(): ReactNode {
  const aui = useAui();
  const files = useAuiState(({ composer }) => composer.attachments);
  if (files.length === 0) return null;
  const remove = (id: string): void => void aui.composer().attachment({ id }).remove();
  return (
    <ul className="cq-files" aria-label="Files of the message">
      {files.map(({ id, name, status, file }) => (
        <li key={id} className="cq-file" data-status={status.type}>
          <span className="cq-file-name" dir="auto">
            {name}
          </span>
          {status.type === "running" && <progress aria-label={`Uploading ${name}`} />}
          {status.type === "incomplete" ? (
            <span className="cq-file-problem" role="alert">
              {"message" in status ? status.message : "It was not uploaded."}
            </span>
          ) : (
            file !== undefined && <span className="cq-file-size">{sizeText(file.size)}</span>
          )}
          {status.type === "incomplete" && file !== undefined && (
            <IconButton
              size="small"
              label={`Upload ${name} again`}
              onClick={() => {
                remove(id);
                void aui.composer().addAttachment(file);
              }}
            >
              <RotateCw size={14} />
            </IconButton>
          )}
          <IconButton size="small" label={`Remove ${name}`} onClick={() => remove(id)}>
            <X size={14} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
