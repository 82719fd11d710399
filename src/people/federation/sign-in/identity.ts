import type { Configuration, ServerMetadata } from 'openid-client';

/** The endpoints of a provider and the client data of this service there. */
export interface Provider {
  readonly client: Configuration;
  readonly metadata: ServerMetadata;
}

/** The verified statements of a provider about a person. */
export interface Identity {
  readonly subject: string;
  /** Claims of the ID token, completed from the UserInfo endpoint. */
  readonly claims: Readonly<Record<string, unknown>>;
}
