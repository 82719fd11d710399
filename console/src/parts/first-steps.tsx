import { Link } from '@tanstack/react-router';
import { asCurl } from '../api.ts';
import { t } from '../texts/index.ts';
import { Empty, Section } from './screen.tsx';
import { CopyText } from './text.tsx';

/** A request that an agent sends with its own token. */
const QUESTION = { action: 'read', resource: 'db:orders' };

const CopyQuestion = () => <CopyText text={() => asCurl('/authorize', 'POST', QUESTION)}>{t.copyQuestion}</CopyText>;

/** Shown instead of decisions: how to make the first one. */
export const NoDecisions = () => (
  <Empty>
    <p>{t.noDecisions}</p>
    <CopyQuestion />
  </Empty>
);

/** The steps of a new administrator, from an agent to a decision. */
export const FirstSteps = () => (
  <Section title={t.firstSteps.title}>
    <ol className="form">
      <li>
        <Link to="/agents">{t.firstSteps.register}</Link>
      </li>
      <li>{t.firstSteps.ask}</li>
      <li>{t.firstSteps.permit}</li>
    </ol>
    <div className="actions">
      <CopyQuestion />
    </div>
  </Section>
);
