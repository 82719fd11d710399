import { defineErrors, type LegateError } from '../../kernel/errors.ts';

/** Errors of the SCIM endpoints (RFC 7644, section 3.12). */
export const ScimErrors = defineErrors({
  SCIM_INVALID_FILTER: [400, 'The filter is not valid.'],
  SCIM_INVALID_PATH: [400, 'A path of the patch is not valid.'],
  SCIM_INVALID_SYNTAX: [400, 'The body is not a JSON object, or its operations are not valid.'],
  SCIM_INVALID_VALUE: [400, 'A value is missing or not valid.'],
  SCIM_NO_TARGET: [400, 'The path of the patch selects nothing.'],
  SCIM_MUTABILITY: [400, 'The attribute cannot be changed or removed.'],
  SCIM_RESOURCE_NOT_FOUND: [404, 'Resource not found.'],
  SCIM_ME_NOT_SUPPORTED: [501, 'The alias /Me is not supported. Use the path of the user.'],
  SCIM_UNIQUENESS: [409, 'A resource with this userName or displayName already exists.'],
});

const SCIM_TYPES: Readonly<Record<string, string>> = {
  SCIM_INVALID_FILTER: 'invalidFilter',
  SCIM_INVALID_PATH: 'invalidPath',
  SCIM_INVALID_SYNTAX: 'invalidSyntax',
  SCIM_INVALID_VALUE: 'invalidValue',
  SCIM_NO_TARGET: 'noTarget',
  SCIM_MUTABILITY: 'mutability',
  SCIM_UNIQUENESS: 'uniqueness',
  VALIDATION_FAILED: 'invalidValue',
};

/**
 * Returns the detail error keyword of RFC 7644, table 9. A body that is not a JSON object is `invalidSyntax`, and so is
 * a patch whose operations are missing or not known.
 */
function scimTypeOf({ code, details }: LegateError): string | undefined {
  const issues = (details?.['issues'] ?? []) as readonly { readonly path: string }[];
  const isNoMessage = code === 'VALIDATION_FAILED' && issues.some(({ path }) => /^(Operations\b|$)/.test(path));
  return SCIM_TYPES[isNoMessage ? ScimErrors.SCIM_INVALID_SYNTAX.code : code];
}

/** Returns an error body of RFC 7644, section 3.12. `status` is a string there. */
export function scimErrorBody(error: LegateError): object {
  const scimType = scimTypeOf(error);
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(error.status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: error.message,
  };
}
