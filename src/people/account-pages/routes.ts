import { z } from 'zod';
import { CommonErrors } from '../../kernel/errors.ts';
import type { LimitedEndpoint } from '../../platform/limited-endpoints.ts';
import { defineRoute } from '../../platform.ts';
import { endCookie, SessionErrors } from '../sessions/index.ts';
import { passwordErrors, signOut, UserErrors } from '../users/index.ts';
import { devicesPage, EndSessionForm, endSessionForm } from './devices-page.ts';
import { PATHS } from './form.ts';
import { homePage } from './home-page.ts';
import {
  forgotPasswordPage,
  MailForm,
  type MailPage,
  magicLinkPage,
  mailForm,
  mailPage,
  verifyEmailPage,
} from './mail-page.ts';
import { SecondFactorForm, secondFactorForm, secondFactorPage } from './second-factor-page.ts';
import { SignInForm, signedOut, signInForm, signInPage } from './sign-in-page.ts';
import { SignUpForm, signUpForm, signUpPage } from './sign-up-page.ts';
import { startPage } from './start-page.ts';

const HTML = { mediaTypes: ['text/html'] } as const;
const {
  EMAIL_IN_USE,
  EMAIL_NOT_VERIFIED,
  INVALID_EMAIL_OR_PASSWORD,
  INVITE_INVALID,
  INVITE_REQUIRED,
  MAIL_NOT_CONFIGURED,
  PASSWORD_CHECKS_BUSY,
  PASSWORDS_OFF,
  SIGN_UP_CLOSED,
  TOO_MANY_TRIES,
} = UserErrors;
const { SESSION_LIMIT_REACHED } = SessionErrors;

/** The routes of a page that requests a mail. */
const mailRoutes = (path: string, rateLimit: LimitedEndpoint, kind: MailPage, what: string) => [
  defineRoute({
    method: 'GET',
    path,
    summary: `Page that mails ${what}`,
    access: 'public',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => mailPage(kind, platform, call),
  }),
  defineRoute({
    method: 'POST',
    path,
    summary: `Form of the page that mails ${what}`,
    description: 'The answer is the same whether or not there is an account.',
    access: 'public',
    page: true,
    rateLimit,
    body: MailForm,
    form: true,
    responses: { 200: HTML },
    errors: kind.errors,
    handle: (call, platform) => mailForm(kind, platform, call),
  }),
];

/**
 * The pages for people. A successful form is answered with 303; a failed one shows the page again with the problems.
 */
export const accountRoutes = [
  defineRoute({
    method: 'GET',
    path: '/',
    summary: 'Start page',
    description: 'For browsers. A client that does not accept text/html gets 404.',
    access: 'public',
    page: true,
    responses: { 200: HTML },
    errors: [CommonErrors.NOT_FOUND],
    handle: (call, platform) => startPage(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.home,
    summary: 'Account page of the caller',
    access: 'user',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => homePage(platform, call),
  }),
  ...mailRoutes(PATHS.magicLink, 'magicLink', magicLinkPage, 'a link that signs in'),
  ...mailRoutes(PATHS.forgotPassword, 'passwordForgot', forgotPasswordPage, 'a link for setting a new password'),
  ...mailRoutes(PATHS.verifyEmail, 'verifyEmail', verifyEmailPage, 'a link that verifies an address'),
  defineRoute({
    method: 'GET',
    path: PATHS.signIn,
    summary: 'Sign-in page',
    description: 'After the sign-in the browser is redirected to `returnTo`, a path of this origin.',
    access: 'public',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => signInPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.signIn,
    summary: 'Form of the sign-in page',
    description: 'Shares its rate limit with POST /sign-in.',
    access: 'public',
    page: true,
    rateLimit: 'signIn',
    body: SignInForm,
    form: true,
    responses: { 303: null },
    errors: [
      INVALID_EMAIL_OR_PASSWORD,
      EMAIL_NOT_VERIFIED,
      PASSWORDS_OFF,
      PASSWORD_CHECKS_BUSY,
      SESSION_LIMIT_REACHED,
      TOO_MANY_TRIES,
    ],
    handle: (call, platform) => signInForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.signUp,
    summary: 'Sign-up page',
    access: 'public',
    page: true,
    responses: { 200: HTML },
    errors: [SIGN_UP_CLOSED, INVITE_REQUIRED, INVITE_INVALID],
    handle: (call, platform) => signUpPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.signUp,
    summary: 'Form of the sign-up page',
    description: 'Shares its rate limit with POST /sign-up.',
    access: 'public',
    page: true,
    rateLimit: 'signUp',
    body: SignUpForm,
    form: true,
    responses: { 200: HTML, 303: null },
    errors: [
      SIGN_UP_CLOSED,
      PASSWORDS_OFF,
      INVITE_REQUIRED,
      INVITE_INVALID,
      MAIL_NOT_CONFIGURED,
      EMAIL_IN_USE,
      PASSWORD_CHECKS_BUSY,
      SESSION_LIMIT_REACHED,
      ...passwordErrors,
    ],
    handle: (call, platform) => signUpForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.secondFactor,
    summary: 'Second-factor page',
    access: 'public',
    page: true,
    responses: { 200: HTML, 400: HTML },
    handle: (call, platform) => secondFactorPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.secondFactor,
    summary: 'Form of the second-factor page',
    description: 'Shares its rate limit with POST /totp/verify.',
    access: 'public',
    page: true,
    rateLimit: 'totpVerify',
    body: SecondFactorForm,
    form: true,
    responses: { 303: null },
    errors: [UserErrors.INVALID_CODE, TOO_MANY_TRIES, SESSION_LIMIT_REACHED],
    handle: (call, platform) => secondFactorForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.devices,
    summary: 'Page of the devices on which the caller is signed in',
    access: 'user',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => devicesPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.devices,
    summary: "End one of the caller's sessions or all others",
    access: 'user',
    effect: 'ownAccount',
    page: true,
    body: EndSessionForm,
    form: true,
    responses: { 303: null },
    handle: (call, platform) => endSessionForm(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.signOut,
    summary: 'Sign out from a page',
    access: 'enrolling',
    page: true,
    body: z.strictObject({}),
    bodyOptional: true,
    form: true,
    responses: { 303: null },
    handle: async (call, platform) => {
      await signOut(platform, call);
      return signedOut(platform, endCookie(platform));
    },
  }),
];
