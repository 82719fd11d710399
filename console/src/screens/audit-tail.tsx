import type { AuditEntry, StreamOptions } from 'legate/client';
import { useEffect, useRef, useState } from 'react';
import { legate } from '../api.ts';
import { EntryTable } from '../parts/entries.tsx';
import { Empty, ErrorNotice } from '../parts/screen.tsx';
import { formatNumber } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

/** Maximum number of rows that are kept. */
const KEPT = 100;
const PER_SECOND = 50;

/**
 * New decisions as they are recorded, newest first. Rows that arrive during a pause wait. Rows that the service skipped
 * because of their number are counted.
 */
export function Tail({ filter }: { filter: Pick<StreamOptions, 'agentId' | 'result'> }) {
  const [rows, setRows] = useState<readonly AuditEntry[]>([]);
  const [skipped, setSkipped] = useState(0);
  const [rate, setRate] = useState(0);
  const [paused, setPaused] = useState(false);
  const [behind, setBehind] = useState(0);
  const [error, setError] = useState<Error>();
  const waiting = useRef<AuditEntry[]>([]);
  const held = useRef(false);
  held.current = paused;
  const key = JSON.stringify(filter);
  useEffect(() => {
    const controller = new AbortController();
    waiting.current = [];
    setRows([]);
    setSkipped(0);
    setBehind(0);
    setError(undefined);
    let seen = 0;
    const follow = async (): Promise<void> => {
      const options = {
        ...(JSON.parse(key) as typeof filter),
        types: ['audit'],
        maxPerSecond: PER_SECOND,
        signal: controller.signal,
      };
      for await (const event of legate.events.stream(options)) {
        if (event.type === 'skipped') setSkipped((n) => n + Number(event.data['count'] ?? 0));
        if (event.type !== 'audit') continue;
        seen++;
        waiting.current = [event.data as unknown as AuditEntry, ...waiting.current].slice(0, KEPT);
      }
    };
    follow().catch((reason: unknown) => {
      if (!controller.signal.aborted) setError(reason as Error);
    });
    const timer = setInterval(() => {
      setRate(seen);
      seen = 0;
      setBehind(held.current ? waiting.current.length : 0);
      if (held.current || waiting.current.length === 0) return;
      const news = waiting.current;
      waiting.current = [];
      setRows((old) => [...news, ...old].slice(0, KEPT));
    }, 1000);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [key]);
  return (
    <>
      <p className="actions">
        <button type="button" className="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? t.goOn : t.pause}
        </button>
        {behind > 0 && <span role="status">{t.newEntries(formatNumber(behind))}</span>}
        <span className="quiet">{t.perSecond(formatNumber(rate))}</span>
        {skipped > 0 && <span className="status limited">{t.skipped(formatNumber(skipped))}</span>}
      </p>
      {error && <ErrorNotice error={error} />}
      {rows.length === 0 ? <Empty>{t.tailEmpty}</Empty> : <EntryTable entries={rows} />}
    </>
  );
}
