// Uploads and downloads of files of a session.

import type { UploadProgress } from "./fetch-with-progress.ts";
import { throwIfAborted } from "./linked-abort.ts";
import type { Abortable, Transport } from "./transport.ts";
import { networkFailed } from "./transport.ts";
import type { Attachment } from "./wire.ts";

export interface UploadOptions extends Abortable {
  /** Name of the file; by default, the name of the `File`. */
  readonly name?: string | undefined;
  /**
   * Called while the file is sent, in runtimes with `XMLHttpRequest`, such as browsers. With the client option `fetch`,
   * it is called if that passes its arguments to `fetchWithProgress`.
   */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

export type FileOperations = ReturnType<typeof fileOperations>;

/** Timeout of an upload in milliseconds, the same as in the service. */
const UPLOAD_MS = 10 * 60_000;

export function fileOperations(transport: Transport, app: string | undefined) {
  return {
    /**
     * Uploads a file, for messages of this session: give its id to `sendMessage` as one of `attachments`. A
     * file that no message uses expires after a day. A retry may leave another copy, which expires too.
     */
    uploadFile(
      id: string,
      file: Blob,
      { name, onProgress, signal }: UploadOptions = {},
    ): Promise<Attachment> {
      return transport.body({
        method: "POST",
        path: "/api/files",
        query: { name: name ?? nameOf(file), app },
        headers: { "X-Session-Id": id, "Content-Type": file.type || "application/octet-stream" },
        file,
        onProgress,
        field: "sha256",
        repeatable: true,
        longPollMs: UPLOAD_MS,
        signal,
      });
    },

    /** Returns the bytes of a file of this session. */
    async downloadFile(id: string, fileId: string, { signal }: Abortable = {}): Promise<Blob> {
      const response = await transport.open({
        path: `/api/files/${encodeURIComponent(fileId)}`,
        headers: { "X-Session-Id": id },
        signal,
      });
      try {
        return await response.blob();
      } catch (cause) {
        throwIfAborted(signal);
        throw networkFailed(cause);
      }
    },
  };
}

function nameOf(file: Blob): string | undefined {
  const { name } = file as Blob & { readonly name?: unknown };
  return typeof name === "string" ? name : undefined;
}
