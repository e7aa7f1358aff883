import { ServiceError, Unavailable } from "../../core/errors.ts";

const DETAILS = {
  siwe_domain_refused:
    "The message is for another domain. Create it with the host of the page that signs in; the operator lists the accepted ones in `siwe.domains`.",
  siwe_message_expired: "The message has expired, or is not valid yet. Sign a new one.",
  siwe_nonce_invalid:
    "The nonce was not issued by this service, has expired, or was used. Request a new one.",
  siwe_signature_wrong:
    "The message was not signed by its address. Sign it unchanged. A contract wallet must sign for a chain in the operator's `chains`.",
} as const;

/** Returns the 401 for an invalid message or signature. */
export function refusedProof(code: keyof typeof DETAILS, detail: string = DETAILS[code]): ServiceError {
  return new ServiceError(401, code, detail, {
    headers: { "www-authenticate": 'Bearer realm="colloquy"' },
  });
}

export function siweUnavailable(missing: string, cause?: unknown): Unavailable {
  const detail = `Wallets cannot sign in: ${missing}. Ask the operator of the service.`;
  return new Unavailable(503, "siwe_unavailable", detail, 60, cause);
}
