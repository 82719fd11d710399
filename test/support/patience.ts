/** How long tests wait, in ms. Long, since the machine may be busy: what never happens fails all the same. */
export const PATIENCE_MS = 120_000;
