import { legate, REST } from '../api.ts';
import { useKept } from '../parts/hooks.tsx';
import { Result, Section } from '../parts/screen.tsx';
import { CopyText, formatNumber, Untrusted } from '../parts/text.tsx';
import { type CheckedProof, canCheck, checkProof } from '../proof.ts';
import { t } from '../texts/index.ts';

/** The proof that a decision is in the sealed ledger, verified in this page. */
export function EntryProof({ id }: { id: string }) {
  const proof = useKept(['proof', id], async () => {
    const [file, { keys }] = await Promise.all([legate.audit.proof(id).then((r) => r.text()), legate.ledger.keys()]);
    return canCheck() ? checkProof(file, id, keys) : undefined;
  });
  return (
    <Section
      title={t.proof}
      aside={
        <a className="button" href={`${REST}/audit/${encodeURIComponent(id)}/proof`} download>
          {t.downloadProof}
        </a>
      }
    >
      <Result of={proof}>
        {(checked) => (checked ? <Claims of={checked} id={id} /> : <p className="notice warning">{t.noWebCrypto}</p>)}
      </Result>
    </Section>
  );
}

function Claims({ of: { claims, row, size, origin, key, cosigners }, id }: { of: CheckedProof; id: string }) {
  const refuted = claims.some(({ holds }) => holds === false);
  const unknown = claims.some(({ holds }) => holds === undefined);
  const command = `npx legate verify ${id}.tlog-proof --key ${key}`;
  return (
    <>
      <p className={refuted ? 'notice warning' : 'notice'} role="status">
        {refuted ? t.proofRefuted : unknown ? t.proofHalf : t.proofHolds}
      </p>
      <ul className="path">
        {claims.map(({ claim, holds }) => (
          <li key={claim}>
            <span aria-hidden="true">{holds === undefined ? '–' : holds ? '✓' : '✕'}</span>{' '}
            {t.claims[claim](formatNumber(row), formatNumber(size))}{' '}
            <strong>{holds === undefined ? t.notChecked : holds ? t.holds : t.doesNotHold}</strong>
          </li>
        ))}
      </ul>
      <dl className="facts">
        <dt>{t.sealedLog}</dt>
        <dd>
          <Untrusted mono>{origin}</Untrusted>
        </dd>
        <dt>{t.verifierKey}</dt>
        <dd>
          <Untrusted mono>{key === '' ? '–' : key}</Untrusted>
        </dd>
        <dt>{t.witnesses}</dt>
        <dd>{cosigners.length === 0 ? t.noWitnesses : <Untrusted>{cosigners.join(', ')}</Untrusted>}</dd>
      </dl>
      <p className="hint">{t.proofTrust}</p>
      <p>
        <Untrusted mono>{command}</Untrusted>
      </p>
      <p className="actions">
        <CopyText text={() => command}>{t.copyCommand}</CopyText>
      </p>
    </>
  );
}
