/**
 * Evaluates the part of PromQL that deploy/prometheus and deploy/grafana use, over two scrapes five minutes apart.
 * Throws for a metric that neither scrape has, and for a label that it lacks.
 */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Scrape = ReadonlyMap<string, readonly Sample[]>;

/** Reads the Prometheus text format. */
export function readMetrics(text: string): Map<string, Sample[]> {
  const metrics = new Map<string, Sample[]>();
  const at = (name: string): Sample[] => {
    const samples = metrics.get(name) ?? [];
    metrics.set(name, samples);
    return samples;
  };
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    for (const suffix of type?.[2] === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      if (type) at(type[1] + suffix);
    const sample = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/i.exec(line);
    if (!sample) continue;
    const labels = [...(sample[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((m) => [m[1], m[2]]);
    at(sample[1] as string).push({
      labels: Object.fromEntries(labels),
      value: Number(sample[3]?.replace('Inf', 'Infinity')),
    });
  }
  return metrics;
}

const TOKEN = /\s*(==|[<>]|[-+/*(){},=]|"[^"]*"|\[5m\]|\d+(?:\.\d+)?|[a-zA-Z_]\w*)/gy;

/** Returns the samples of an expression; a comparison returns the samples for which it is true. */
export function evaluate(expression: string, before: Scrape, after: Scrape): readonly Sample[] {
  const tokens = [...expression.trim().matchAll(TOKEN)].map((m) => m[1] as string);
  if (tokens.join('') !== expression.replace(/\s/g, ''))
    throw new Error(`This expression cannot be parsed: ${expression}`);
  let i = 0;
  const take = (expected?: string): string => {
    const token = tokens[i++] ?? '';
    if (expected !== undefined && token !== expected)
      throw new Error(`${expected} expected, not ${token}: ${expression}`);
    return token;
  };

  function comparison(): readonly Sample[] {
    const left = quotient();
    const operator = tokens[i];
    if (operator !== '==' && operator !== '>' && operator !== '<') return left;
    take();
    const bound = Number(take());
    return left.filter(({ value }) =>
      operator === '==' ? value === bound : operator === '>' ? value > bound : value < bound,
    );
  }

  function quotient(): readonly Sample[] {
    const left = operand();
    if (tokens[i] !== '/') return left;
    take();
    const [divisor] = operand();
    return divisor ? left.map(({ labels, value }) => ({ labels, value: value / divisor.value })) : [];
  }

  function operand(): readonly Sample[] {
    const name = take();
    switch (name) {
      case 'sum':
      case 'count':
      case 'max': {
        const by = tokens[i] === 'by' ? labelList() : [];
        take('(');
        const inside = comparison();
        take(')');
        return grouped(inside, by).map(({ labels, samples }) => {
          const values = samples.map(({ value }) => value);
          const sum = values.reduce((a, b) => a + b, 0);
          return { labels, value: name === 'sum' ? sum : name === 'count' ? values.length : Math.max(...values) };
        });
      }
      case 'abs':
      case 'rate': {
        take('(');
        const inside = name === 'rate' ? selector(take(), true) : comparison();
        take(')');
        return name === 'rate' ? inside : inside.map(({ labels, value }) => ({ labels, value: Math.abs(value) }));
      }
      case 'histogram_quantile': {
        take('(');
        const q = Number(take());
        take(',');
        const inside = comparison();
        take(')');
        return quantiles(q, inside);
      }
      default:
        return selector(name, false);
    }
  }

  function labelList(): string[] {
    take('by');
    take('(');
    const names = [take()];
    while (tokens[i] === ',') {
      take();
      names.push(take());
    }
    take(')');
    return names;
  }

  function selector(name: string, rate: boolean): readonly Sample[] {
    const wanted: [string, string][] = [];
    if (tokens[i] === '{') {
      do {
        take();
        const label = take();
        take('=');
        wanted.push([label, take().slice(1, -1)]);
      } while (tokens[i] === ',');
      take('}');
    }
    if (rate) take('[5m]');
    const known = after.get(name) ?? (before.has(name) ? [] : undefined);
    if (!known) throw new Error(`/metrics has no ${name}: ${expression}`);
    for (const [label] of wanted)
      if (known.length > 0 && !known.some(({ labels }) => label in labels))
        throw new Error(`${name} has no label ${label}`);
    const fitting = known.filter(({ labels }) => wanted.every(([label, value]) => labels[label] === value));
    if (!rate) return fitting;
    const earlier = new Map((before.get(name) ?? []).map(({ labels, value }) => [JSON.stringify(labels), value]));
    return fitting.map(({ labels, value }) => ({
      labels,
      value: (value - (earlier.get(JSON.stringify(labels)) ?? 0)) / 300,
    }));
  }

  const result = comparison();
  if (i < tokens.length) throw new Error(`Unexpected ${tokens[i]}: ${expression}`);
  return result;
}

function grouped(samples: readonly Sample[], by: readonly string[]) {
  const groups = new Map<string, { labels: Record<string, string>; samples: Sample[] }>();
  for (const sample of samples) {
    for (const label of by) if (!(label in sample.labels)) throw new Error(`A sample has no label ${label}.`);
    const labels = Object.fromEntries(by.map((label) => [label, sample.labels[label] ?? '']));
    const key = JSON.stringify(labels);
    const group = groups.get(key) ?? { labels, samples: [] };
    group.samples.push(sample);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Interpolates within the bucket, as Prometheus does. */
function quantiles(q: number, buckets: readonly Sample[]): readonly Sample[] {
  const others = [...new Set(buckets.flatMap(({ labels }) => Object.keys(labels)))].filter((label) => label !== 'le');
  return grouped(buckets, others).flatMap(({ labels, samples }) => {
    const sorted = samples
      .map((s) => ({
        bound: s.labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(s.labels['le']),
        value: s.value,
      }))
      .sort((a, b) => a.bound - b.bound);
    const total = sorted.at(-1)?.value ?? 0;
    if (total === 0) return [];
    const at = sorted.findIndex(({ value }) => value >= q * total);
    const lower = at > 0 ? (sorted[at - 1] as (typeof sorted)[0]) : { bound: 0, value: 0 };
    const upper = sorted[at] as (typeof sorted)[0];
    if (upper.bound === Number.POSITIVE_INFINITY) return [{ labels, value: lower.bound }];
    const share = (q * total - lower.value) / (upper.value - lower.value);
    return [{ labels, value: lower.bound + (upper.bound - lower.bound) * share }];
  });
}
