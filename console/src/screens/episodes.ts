import type { Anomaly } from 'legate/client';

/** Anomalies of one agent that follow each other closely. */
export interface Episode {
  readonly agentId: string;
  /** Newest first. */
  readonly anomalies: readonly Anomaly[];
}

/** Two anomalies of an agent belong together if there is at most this time between them. */
const GAP_MS = 3_600_000;

/** Groups anomalies, newest first, into episodes. The episode with the newest anomaly is first. */
export function episodesOf(anomalies: readonly Anomaly[]): Episode[] {
  const episodes: Anomaly[][] = [];
  const last = new Map<string, Anomaly[]>();
  for (const anomaly of anomalies) {
    const open = last.get(anomaly.agentId);
    const oldest = open?.at(-1);
    if (open && oldest && Date.parse(oldest.detectedAt) - Date.parse(anomaly.detectedAt) <= GAP_MS) open.push(anomaly);
    else {
      const begun = [anomaly];
      last.set(anomaly.agentId, begun);
      episodes.push(begun);
    }
  }
  return episodes.map((group) => ({ agentId: group[0]?.agentId ?? '', anomalies: group }));
}
