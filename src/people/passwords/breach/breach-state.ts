import { defineState, type Platform } from '../../../platform.ts';
import { type BreachCheck, createBreachCheck } from './breach-check.ts';

export const breachCheck = defineState(({ config, clock, log }) =>
  createBreachCheck({
    ...config.breach,
    now: () => clock.now(),
    onUnavailable: (reason) => log.warn({ reason }, 'a password could not be compared with known data breaches'),
  }),
);

/** Returns the check of this service, as configured by `breach.*`. */
export const breachCheckOf = ({ stateOf }: Pick<Platform, 'stateOf'>): BreachCheck => stateOf(breachCheck);
