import { checkAuthorize, checkCall, checkCallback, checkToken, newAttempt } from './check-grant.ts';
import { checkIssuerMetadata, checkRegistration, type Issuer } from './check-issuer.ts';
import { checkChallenge, checkRefusal, checkResourceMetadata, INITIALIZE, post } from './check-resource.ts';
import { type Ask, askBy, NoAnswer } from './http.ts';
import { Findings, STEPS, type StepName, type StepReport } from './report.ts';

export interface Examination {
  /** URL of the MCP server, as configured in clients. */
  readonly server: string;
  readonly fetch?: typeof globalThis.fetch;
  /** An existing token. Registration, login and exchange are then skipped. */
  readonly token?: string | undefined;
  /** An already registered client. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** The redirect URI of the login. */
  readonly redirectUri: string;
  /**
   * Sends a person to the authorization URL and returns the parameters that arrive at `redirectUri`. undefined: no
   * person is available.
   */
  readonly login: ((authorizationUrl: string) => Promise<URLSearchParams>) | undefined;
  /** Called after each step. */
  readonly say: (report: StepReport) => void;
}

/** Takes the steps of an MCP client from 401 to a call. Uses only HTTP, so it works with any server and issuer. */
export async function examine(examination: Examination): Promise<StepReport[]> {
  const reports: StepReport[] = [];
  const done = (report: StepReport): StepReport => {
    reports.push(report);
    examination.say(report);
    return report;
  };
  try {
    await walk(examination, askBy(examination.fetch ?? globalThis.fetch), done);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const f = new Findings();
    f.broken('connection', error.message, 'HTTP');
    done(f.report(nextStep(reports), ''));
  }
  for (let step = nextStep(reports); reports.length < Object.keys(STEPS).length; step = nextStep(reports))
    done({ step, outcome: 'skipped', seen: 'not reached', findings: [] });
  return reports;
}

const nextStep = (reports: readonly StepReport[]): StepName =>
  (Object.keys(STEPS) as StepName[])[reports.length] ?? 'call';

async function walk(e: Examination, ask: Ask, done: (report: StepReport) => StepReport): Promise<void> {
  const refusal = await post(ask, e.server, INITIALIZE);
  if (done(checkRefusal(refusal)).outcome === 'broken' && refusal.status !== 403) return;
  const challenge = checkChallenge(refusal);
  done(challenge.report);
  const resource = await checkResourceMetadata(ask, e.server, challenge.metadata);
  done(resource.report);
  if (!resource.found) return;
  const issuer = await checkIssuerMetadata(ask, resource.found.issuer);
  done(issuer.report);
  if (e.token !== undefined) {
    for (const step of ['registration', 'authorize', 'token'] as const)
      done({ step, outcome: 'skipped', seen: '--token was given', findings: [] });
    done(await checkCall(ask, e.server, e.token));
    return;
  }
  if (!issuer.found) return;
  const client = await clientFor(e, ask, issuer.found, done);
  if (!client) return;

  const attempt = newAttempt(issuer.found, resource.found, challenge.scope, client.id, e.redirectUri);
  const f = await checkAuthorize(ask, issuer.found, attempt);
  if (f.isBroken || !e.login) {
    const report = f.report('authorize', f.isBroken ? attempt.url : '');
    done(
      f.isBroken
        ? report
        : {
            ...report,
            outcome: 'skipped',
            seen: 'the request is accepted; the rest needs a person, and --no-login was given',
          },
    );
    if (!f.isBroken)
      for (const step of ['token', 'call'] as const)
        done({ step, outcome: 'skipped', seen: 'needs a person', findings: [] });
    return;
  }
  const code = checkCallback(f, issuer.found, attempt, await e.login(attempt.url));
  if (done(f.report('authorize', '')).outcome === 'broken' || code === undefined) return;
  const { report, token } = await checkToken(ask, issuer.found, resource.found, attempt, code, client.secret);
  done(report);
  if (token !== undefined) done(await checkCall(ask, e.server, token));
}

async function clientFor(
  e: Examination,
  ask: Ask,
  issuer: Issuer,
  done: (report: StepReport) => StepReport,
): Promise<{ id: string; secret: string | undefined } | undefined> {
  if (e.clientId !== undefined) {
    done({ step: 'registration', outcome: 'skipped', seen: '--client-id was given', findings: [] });
    return { id: e.clientId, secret: e.clientSecret };
  }
  if (issuer.register === undefined) {
    done({
      step: 'registration',
      outcome: 'skipped',
      seen: 'not supported by the issuer; register a client and use --client-id',
      findings: [],
    });
    return undefined;
  }
  const { report, client } = await checkRegistration(ask, issuer.register, e.redirectUri);
  done(report);
  return client;
}
