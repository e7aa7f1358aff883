import { ServiceError, Unavailable } from "../../core/errors.ts";

const DETAILS = {
  siwe_domain_refused:
    "The message is for another domain. Create it with the host of the page that signs in; the operator lists the accepted ones in `siwe.domains`.",
  siwe_message_expired: "The message has expired, or is not valid yet. Sign a new one.",
  siwe_nonce_invalid: "The nonce is not one of this service, has expired, or was used. Ask for a new one.",
  siwe_signature_wrong:
    "The signature is not one of the message by its address. Sign the message as it is. A wallet that is a contract must sign for a chain in the operator's `chains`.",
} as const;

/** 401 for a message or signature that proves nothing. */
export function refusedProof(code: keyof typeof DETAILS): ServiceError {
  return new ServiceError(401, code, DETAILS[code], {
    headers: { "www-authenticate": 'Bearer realm="colloquy"' },
  });
}

export function siweUnavailable(missing: string, cause?: unknown): Unavailable {
  const detail = `Wallets cannot sign in here: ${missing}. The operator of this service can change that.`;
  return new Unavailable(503, "siwe_unavailable", detail, 60, cause);
}
