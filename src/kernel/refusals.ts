/**
 * The reasons why a request is refused or fails, for operators. The reason is logged together with the ids of request
 * and client. The caller gets only the public message, which hides the cause if it would help an attacker.
 */
export const REFUSALS = {
  // Credentials of a request
  'credential-unrecognised': 'The Authorization header or cookie contains no credential of this service.',
  'session-unknown': 'No session has this token: it was ended, or was never issued.',
  'session-expired': 'The session has expired.',
  'api-token-unknown': 'No API token has this hash: it was revoked, or was never issued.',
  'owner-suspended': 'The user of the credential is suspended.',
  'api-token-expired': 'The API token has expired.',
  'agent-token-unknown': 'No agent has this token: it was rotated, or was never issued.',
  'agent-inactive': 'The agent is revoked, expired or deleted.',
  'stream-ticket-unknown': 'No stream ticket has this value: it was used, has expired, or was never issued.',
  'principal-ended': 'The credential or its owner ended between authentication and the decision.',

  // Access tokens
  'access-token-malformed': 'The credential is not a signed access token of this issuer.',
  'access-token-signature': 'The access token is not signed with a key of this service.',
  'access-token-expired': 'The access token has expired.',
  'access-token-revoked': 'The access token was revoked individually.',
  'access-token-audience': 'The access token is for another resource.',
  'grant-ended': 'The grant was revoked or deleted.',
  'grant-expired': 'The grant has reached its maximum age.',
  'grant-mismatch': 'The access token and its grant name different agents, clients or resources.',
  'grant-agent-inactive': 'The agent of the grant, or the actor of an exchanged token, is revoked, expired or deleted.',
  'grant-resource-unregistered': 'The resource of the grant is not registered.',

  // OAuth clients
  'client-id-missing': 'The request names no client.',
  'client-id-mismatch': 'The parts of the request name different clients.',
  'client-authenticated-twice':
    'The client sent more than one of a secret in the body, an Authorization header and an assertion.',
  'client-header-malformed': 'The Basic credentials cannot be decoded.',
  'client-unknown': 'No client or agent has this id.',
  'client-secret-missing': 'The client is registered with a secret and sent none.',
  'client-secret-wrong': 'The secret does not match that of the client or agent.',
  'client-secret-unexpected': 'The client is registered without a secret and sent one.',
  'client-assertion-missing': 'The client is registered with a key and sent no assertion.',
  'client-assertion-unexpected': 'The client or agent has no key registered and sent an assertion.',
  'client-assertion-type': 'client_assertion_type is missing or unknown.',
  'client-public': 'The endpoint requires a client secret.',
  'client-grant-type': 'The client is not registered for this grant type.',

  // Authorization requests
  'redirect-uri-unregistered': 'redirect_uri is not registered for this client.',

  // Authorization codes
  'code-unknown': 'No authorization code has this hash.',
  'code-of-another-client': 'The code was issued to another client.',
  'code-reused': 'The code was used before. Its grant, if any, has been revoked.',
  'code-expired': 'The code has expired.',
  'code-redirect-uri': 'redirect_uri differs from the one in the authorization request.',
  'code-verifier': 'code_verifier does not match the challenge.',
  'code-resource': 'The code was issued for another resource.',

  // Device codes
  'device-code-unknown': 'No device code has this hash.',
  'device-code-of-another-client': 'The device code was issued to another client.',
  'device-code-used': 'The device code was used before.',
  'device-code-resource': 'The device code was issued for another resource.',
  'user-code-wrong': 'No pending device request has this user code.',

  // Refresh tokens
  'refresh-token-unknown': 'No refresh token has this hash.',
  'refresh-token-of-another-client': 'The refresh token was issued to another client.',
  'refresh-token-expired': 'The refresh token has expired.',
  'refresh-token-reused': 'The refresh token was used before. Its grant has been revoked.',
  'refresh-resource': 'The grant is for a resource other than the one requested.',
  'scope-not-granted': 'The requested scope exceeds the granted scope.',

  // Token exchange
  'actor-token-unknown': 'The actor token does not belong to an active agent.',
  'actor-is-subject': 'The actor and the subject of the token are the same agent.',
  'exchange-target': 'The subject token is for a resource other than the one requested.',
  'exchange-delegation-refused': 'The delegation from the holder to the actor is refused.',

  // Assertions of other issuers, and those that authenticate clients
  'assertion-malformed': 'The assertion is not a JWT of this type with the required claims.',
  'assertion-issuer': 'The issuer of the assertion is not registered for this use.',
  'assertion-keys-unavailable': 'The keys of the issuer or client cannot be read.',
  'assertion-signature': 'The assertion is not signed with a key and an algorithm of its issuer or client.',
  'assertion-expired': 'The assertion has expired, or is not valid yet.',
  'assertion-lifetime': 'The assertion is valid for longer than is accepted.',
  'assertion-audience': 'The assertion is for another audience.',
  'assertion-reused': 'The assertion was used before.',
  'assertion-of-another-client': 'The assertion is for another client.',
  'assertion-resource': 'The assertion is for another resource, or for one that is not registered.',
  'person-unknown': 'No account belongs to the subject of the assertion, or may be joined with it.',
  'person-auditor': 'The person is an auditor, for whom no application acts.',
  'client-not-confidential': 'The grant type requires a client with a secret or a key.',
  'workload-untrusted': 'No active agent trusts this workload.',
  'workload-ambiguous': 'Several agents trust this workload, and the request names none of them.',

  // Sign-in
  'email-unknown': 'No account has this email address.',
  'email-taken': 'An account with this email address already exists.',
  'email-unverified': 'The email address of the account is not verified.',
  'password-wrong': 'The password is wrong, or the account has none.',
  'password-changed-meanwhile': 'The password or email address changed while the password was checked.',
  'identity-unconfirmed': 'The identity provider refused the sign-in or its answer is invalid, as `problem` states.',
  'provider-session-ended': 'The identity provider ended the session while the sign-in was in progress.',
  'link-unknown': 'The link was used, has expired, or was never sent.',
  'email-code-wrong': 'The code is wrong, or no code is pending for this account.',
  'second-step-unknown': 'No sign-in is waiting for this second step.',
  'second-factor-not-set-up': 'The account has no authenticator app.',
  'totp-code-wrong': 'The code of the authenticator app is wrong.',
  'second-factor-code-missing': 'A code of the second factor is required in addition to the password.',
  'too-many-failures': 'Too many consecutive wrong guesses for this account. Further ones are refused for a while.',
  'totp-code-reused': 'The code of the authenticator app was used before.',
  'backup-code-wrong': 'No unused backup code has this value.',
  'passkey-unknown': 'No account has this passkey.',
  'passkey-of-another-account': 'The passkey belongs to another account than the answer names.',
  'passkey-challenge-unknown': 'The challenge was used, has expired, or was made for another session or browser.',
  'passkey-answer-invalid': 'Origin, relying party, flags or signature of the answer are not as they must be.',
  'passkey-counter-back': 'The signature counter of the passkey went back: it may have been copied.',

  // Failures of the service
  'ledger-closed': 'The ledger is closed: the service is shutting down.',
  'ledger-queue-full': 'Too many decisions are waiting.',
  'decision-too-large': 'The decision depends on more data than fits in memory.',
  'audit-agent-deleted': 'The agent of the audit entry has been deleted.',
} as const;

export type RefusalReason = keyof typeof REFUSALS;

/** Fields logged with a refusal to identify the request, such as `clientId`. Never a secret. */
export type RefusalContext = Readonly<Record<string, string | null | undefined>>;
