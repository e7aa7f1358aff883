import { useAui, useAuiState, type Attachment } from "@assistant-ui/react";
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
          {status.type === "running" && <Progress name={name} fraction={status.progress} />}
          {status.type === "incomplete" ? (
            <span className="cq-file-problem" role="alert">
              {"message" in status ? status.message : "It was not uploaded."}
            </span>
          ) : (
            file !== undefined && <span className="cq-file-size">{sizeOf(status, file)}</span>
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

/** Is indeterminate before the first byte is sent, and while the service checks the file. */
function Progress({ name, fraction }: { readonly name: string; readonly fraction: number }): ReactNode {
  const value = fraction > 0 && fraction < 1 ? fraction : undefined;
  return <progress aria-label={`Uploading ${name}`} value={value} />;
}

/** Returns the size of a file, with the sent percentage while it is uploaded. */
function sizeOf(status: Attachment["status"], { size }: File): string {
  const sent = status.type === "running" ? Math.floor(status.progress * 100) : 0;
  return sent > 0 ? `${sent}% of ${sizeText(size)}` : sizeText(size);
}
