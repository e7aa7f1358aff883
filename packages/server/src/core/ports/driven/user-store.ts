export interface UserStore {
  /** Stores the revocation of a token until `expiresAt`, in milliseconds since the Unix epoch. Returns false if it is stored already. */
  revokeToken(id: string, expiresAt: number): Promise<boolean>;
  isTokenRevoked(id: string): Promise<boolean>;
  /** Removes up to `limit` revocations of expired tokens; returns how many. */
  forgetRevokedTokens(limit: number): Promise<number>;
}
