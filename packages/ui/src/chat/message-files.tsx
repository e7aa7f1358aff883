import type { Attachment } from "@colloquy/client";
import { useColloquy, useFile } from "@colloquy/react";
import { useState, type ReactNode } from "react";
import { Dialog } from "../design/dialog.tsx";
import { useSessionId } from "./session-id.tsx";
import { sizeText } from "./size-text.ts";

/** Files of a message or a result: images inline, others by name. */
export function MessageFiles({ files }: { readonly files: readonly Attachment[] }): ReactNode {
  return (
    <ul className="cq-files cq-files-sent" aria-label="Files">
      {files.map((file) => (
        <li key={file.id}>
          {file.media_type.startsWith("image/") ? <Image file={file} /> : <Download file={file} />}
        </li>
      ))}
    </ul>
  );
}

/** An image that opens in a viewer. */
function Image({ file }: { readonly file: Attachment }): ReactNode {
  const { url, error } = useFile(useSessionId(), file.id);
  const [isOpen, setOpen] = useState(false);
  if (error !== null) return <span className="cq-file cq-file-problem">{file.name} cannot be shown.</span>;
  if (url === null) return <span className="cq-file-image" aria-busy="true" aria-label={file.name} />;
  return (
    <>
      <button
        type="button"
        className="cq-file-image"
        aria-label={`Open ${file.name}`}
        onClick={() => setOpen(true)}
      >
        <img src={url} alt={file.name} />
      </button>
      {isOpen && (
        <Dialog title={file.name} onClose={() => setOpen(false)}>
          <img className="cq-file-viewer" src={url} alt={file.name} />
          <Download file={file} />
        </Dialog>
      )}
    </>
  );
}

/** Downloads a file when it is clicked. */
function Download({ file }: { readonly file: Attachment }): ReactNode {
  const { session } = useColloquy();
  const id = useSessionId();
  const [problem, setProblem] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    try {
      const url = URL.createObjectURL(await session(id).download(file.id));
      const link = document.createElement("a");
      Object.assign(link, { href: url, download: file.name });
      link.click();
      // The browser has started the download by then.
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      setProblem(null);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <button type="button" className="cq-file" onClick={() => void save()} title="Download">
      <span className="cq-file-name" dir="auto">
        {file.name}
      </span>
      <span className="cq-file-size">{problem ?? sizeText(file.bytes)}</span>
    </button>
  );
}
