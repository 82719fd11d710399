import { z } from 'zod';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { SessionErrors, withRecentProof } from '../sessions/index.ts';
import { IssuerErrors } from './errors.ts';
import { createIssuer, deleteIssuer, updateIssuer } from './manage-issuers.ts';
import { CreateIssuer, Issuer, MAX_ISSUERS, UpdateIssuer } from './schema.ts';
import { getIssuer, listIssuers } from './store.ts';

const { REAUTHENTICATION_REQUIRED } = SessionErrors;
const { ISSUER_NOT_FOUND, ISSUER_IN_USE, ISSUER_LIMIT_EXCEEDED, ISSUER_CONFIGURED } = IssuerErrors;

/** Contract 23.1. */
export const issuerRoutes = [
  defineRoute({
    method: 'POST',
    path: '/issuers',
    summary: 'Trust an issuer of tokens',
    description:
      'Its documents and keys are fetched when one of its tokens is first used. Needs a recent use of the second ' +
      'factor, if the caller has one, because the issuer can sign in people with any role.',
    access: 'admin',
    versioned: true,
    body: CreateIssuer,
    responses: { 201: Issuer },
    errors: [ISSUER_IN_USE, ISSUER_LIMIT_EXCEEDED, REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => ({
      status: 201,
      body: await createIssuer(
        platform,
        { actor: call.actor, reauthorize: withRecentProof(platform, call) },
        call.body,
      ),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/issuers',
    summary: 'List issuers',
    description: `Issuers of the configuration first, then the others, oldest first. At most ${MAX_ISSUERS}.`,
    access: 'admin',
    responses: { 200: z.array(Issuer) },
    handle: async (_call, platform) => ({ status: 200, body: await listIssuers(platform, platform.database.read) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/issuers/:id',
    summary: 'Get an issuer',
    access: 'admin',
    versioned: true,
    params: idParams('issuer'),
    responses: { 200: Issuer },
    errors: [ISSUER_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: await getIssuer(platform, platform.database.read, call.params.id),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/issuers/:id',
    summary: 'Change an issuer',
    description:
      'Access tokens and sessions that a removed use gave end immediately, as with `DELETE`. Needs a recent use of ' +
      'the second factor, if the caller has one.',
    access: 'admin',
    versioned: true,
    params: idParams('issuer'),
    body: UpdateIssuer,
    responses: { 200: Issuer },
    errors: [ISSUER_NOT_FOUND, ISSUER_IN_USE, ISSUER_CONFIGURED, REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => ({
      status: 200,
      body: await updateIssuer(
        platform,
        {
          actor: call.actor,
          reauthorize: withRecentProof(platform, call),
          assertUnchanged: call.assertUnchanged,
        },
        call.params.id,
        call.body,
      ),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/issuers/:id',
    summary: 'Stop trusting an issuer',
    description:
      'Its tokens are no longer accepted. Access tokens issued through it, and sessions that began with it, end ' +
      'immediately.',
    access: 'admin',
    versioned: true,
    params: idParams('issuer'),
    responses: { 204: null },
    errors: [ISSUER_NOT_FOUND, ISSUER_CONFIGURED],
    handle: async (call, platform) => {
      await deleteIssuer(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
