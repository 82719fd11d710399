import { z } from 'zod';
import { CommonErrors } from '../../kernel/errors.ts';
import { defineRoute, type Platform } from '../../platform.ts';
import { OAuthErrors, oauthErrorBody } from '../errors.ts';
import { TOKEN_BODY_LIMIT } from '../token/token-request.ts';
import {
  authorizeDevice,
  DEVICE_PATH,
  DeviceAuthorization,
  DeviceAuthorizationForm,
  type DeviceCall,
} from './authorize-device.ts';
import { devicePage, submitDevicePage } from './device-page.ts';

const HTML = { mediaTypes: ['text/html'] } as const;

/** Name of the device authorization endpoint, below the paths of the OAuth endpoints. */
export const DEVICE_AUTHORIZATION = 'device_authorization';

const handleAuthorizeDevice = async (call: DeviceCall, platform: Platform) => ({
  status: 200,
  body: await authorizeDevice(platform, call),
  headers: { 'cache-control': 'no-store', pragma: 'no-cache' },
});
export const deviceAuthorizationRoute = (path: string, mount: 'base' | 'rest') =>
  defineRoute({
    method: 'POST',
    path,
    mount,
    summary: 'Start the authorization of a device',
    description:
      'RFC 8628, section 3.1. Show the person `user_code` and `verification_uri`, then poll the token endpoint with ' +
      '`device_code` every `interval` seconds. Both codes are valid for 10 minutes. The client needs the grant type ' +
      '`urn:ietf:params:oauth:grant-type:device_code` in its registration.',
    access: 'public',
    checksItself: ['client', 'none'],
    crossOrigin: true,
    rateLimit: 'deviceAuthorization',
    form: 'only',
    body: DeviceAuthorizationForm,
    bodyLimit: TOKEN_BODY_LIMIT,
    responses: { 200: DeviceAuthorization },
    errorBody: oauthErrorBody,
    errors: [
      OAuthErrors.OAUTH_INVALID_REQUEST,
      OAuthErrors.OAUTH_INVALID_CLIENT,
      OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT,
      OAuthErrors.OAUTH_INVALID_SCOPE,
      OAuthErrors.OAUTH_INVALID_TARGET,
      OAuthErrors.OAUTH_TEMPORARILY_UNAVAILABLE,
    ],
    handle: handleAuthorizeDevice,
  });

/** The page on which a person enters the code of a device (RFC 8628, section 3.3; contract 23.6). */
export const devicePageRoutes = [
  defineRoute({
    method: 'GET',
    path: DEVICE_PATH,
    summary: 'Page for the code of a device',
    access: 'public',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => devicePage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: DEVICE_PATH,
    summary: 'Show or answer the request of a device',
    description:
      'The form of the page. A person may enter five wrong codes a minute, then gets 429 with Retry-After until the ' +
      'first of them is a minute old.',
    access: 'public',
    page: true,
    form: 'only',
    body: z.record(z.string(), z.string()),
    bodyLimit: TOKEN_BODY_LIMIT,
    responses: { 200: HTML, 303: null, 400: HTML },
    errors: [CommonErrors.RATE_LIMIT_EXCEEDED],
    handle: (call, platform) => submitDevicePage(platform, call, call.body),
  }),
];
