// Preloaded into an instance: SIGUSR2 moves its clock to the next of these offsets.
const OFFSETS_MS = [0, 300_000, 0, 1500, 0, -300_000, 0, -1500];
let index = 0;
const RealDate = Date;
const now = () => RealDate.now() + OFFSETS_MS[index];

globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(now());
    else super(...args);
  }
  static now() {
    return now();
  }
};
process.on('SIGUSR2', () => {
  index = (index + 1) % OFFSETS_MS.length;
});
