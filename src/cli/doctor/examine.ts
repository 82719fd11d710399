import { checkAuthorize, checkCall, checkCallback, checkToken, newAttempt } from './check-grant.ts';
import { checkIssuerMetadata, checkRegistration, type Issuer } from './check-issuer.ts';
import { checkChallenge, checkRefusal, checkResourceMetadata, INITIALIZE, post } from './check-resource.ts';
import { type Ask, askBy, NoAnswer } from './http.ts';
import { Findings, STEPS, type StepName, type StepReport } from './report.ts';

export interface Examination {
  /** Address of the MCP server, as clients are given it. */
  readonly server: string;
  readonly fetch?: typeof globalThis.fetch;
  /** A token that is there already: registration, login and exchange are left out. */
  readonly token?: string | undefined;
  /** A client that is there already. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Where a browser is led back to. */
  readonly redirectUri: string;
  /** Sends a person to the address and returns the parameters that came back to `redirectUri`; undefined if nobody can be asked. */
  readonly login: ((authorizationUrl: string) => Promise<URLSearchParams>) | undefined;
  /** Told of each step as it is done. */
  readonly say: (report: StepReport) => void;
}

/** Walks the way of an MCP client from 401 to a call. Knows the server and its issuer by HTTP alone. */
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
      done({ step, outcome: 'skipped', seen: 'a token was given', findings: [] });
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
            seen: 'the request is taken; the rest needs a person, and --no-login was given',
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
    done({ step: 'registration', outcome: 'skipped', seen: 'a client was given', findings: [] });
    return { id: e.clientId, secret: e.clientSecret };
  }
  if (issuer.register === undefined) {
    done({
      step: 'registration',
      outcome: 'skipped',
      seen: 'not offered; name a client with --client-id',
      findings: [],
    });
    return undefined;
  }
  const { report, client } = await checkRegistration(ask, issuer.register, e.redirectUri);
  done(report);
  return client;
}
