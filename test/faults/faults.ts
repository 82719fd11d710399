import type { Random } from '../support/random.ts';
import type { Cluster, Instance } from './cluster.ts';

/** A fault that happens for a while, and ends by itself. */
export interface Fault {
  readonly name: string;
  run(cluster: Cluster, random: Random): Promise<void>;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const anyOf = ({ instances }: Cluster, random: Random): Instance =>
  instances[random.below(instances.length)] as Instance;

/** Faults of one instance, or of its network. */
export const INSTANCE_FAULTS: readonly Fault[] = [
  {
    name: 'instance killed (SIGKILL)',
    run: async (cluster, random) => {
      const instance = anyOf(cluster, random);
      await instance.kill();
      await sleep(random.below(1500));
      await instance.start();
    },
  },
  {
    name: 'instance frozen (SIGSTOP)',
    run: async (cluster, random) => {
      const instance = anyOf(cluster, random);
      instance.signal('SIGSTOP');
      await sleep(500 + random.below(7000));
      instance.signal('SIGCONT');
    },
  },
  {
    name: 'connections to PostgreSQL swallow everything',
    run: async (cluster, random) => {
      const { proxies } = anyOf(cluster, random);
      for (const proxy of proxies) proxy.freeze();
      await sleep(500 + random.below(8000));
      for (const proxy of proxies) proxy.mend();
    },
  },
  {
    name: 'connections to PostgreSQL swallow everything and break',
    run: async (cluster, random) => {
      const { proxies } = anyOf(cluster, random);
      for (const proxy of proxies) proxy.freeze();
      await sleep(500 + random.below(3000));
      for (const proxy of proxies) {
        proxy.cut();
        proxy.mend();
      }
    },
  },
  {
    name: 'connections to PostgreSQL slow',
    run: async (cluster, random) => {
      const { proxies } = anyOf(cluster, random);
      for (const proxy of proxies) proxy.slow(5 + random.below(80));
      await sleep(1000 + random.below(3000));
      for (const proxy of proxies) proxy.mend();
    },
  },
  {
    name: 'connections to PostgreSQL break',
    run: async (cluster, random) => {
      for (const proxy of anyOf(cluster, random).proxies) proxy.cut();
    },
  },
  {
    name: 'clock wrong for a while (+5 min, +1.5 s, -5 min or -1.5 s)',
    run: async (cluster, random) => {
      const instance = anyOf(cluster, random);
      instance.signal('SIGUSR2');
      await sleep(500 + random.below(2000));
      // If the instance was killed in the meantime, it has started with the right clock.
      instance.signal('SIGUSR2');
    },
  },
];

/** Faults that concern all instances. */
export const SHARED_FAULTS: readonly Fault[] = [
  {
    name: 'PostgreSQL restarts',
    run: ({ postgres }, random) => postgres.restart(random.below(2) ? 'SIGINT' : 'SIGQUIT', random.below(1500)),
  },
  {
    name: 'PostgreSQL killed (SIGKILL)',
    run: ({ postgres }, random) => postgres.restart('SIGKILL', random.below(1500)),
  },
  {
    name: 'failover to the synchronous standby',
    run: ({ postgres }, random) => postgres.failOver(random.below(2000)),
  },
  { name: 'every session of PostgreSQL ended', run: ({ postgres }) => postgres.breakConnections() },
  {
    name: 'Redis gone',
    run: async ({ redis }, random) => {
      await redis?.cut();
      await sleep(500 + random.below(3000));
      await redis?.mend();
    },
  },
  {
    name: 'Redis frozen',
    run: async ({ redis }, random) => {
      redis?.freeze();
      await sleep(500 + random.below(3000));
      await redis?.mend();
    },
  },
];
