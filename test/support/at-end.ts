type End = () => unknown;

const ofTest: End[] = [];
const ofFile: End[] = [];

async function runAll(ends: End[]): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** Runs `end` after the current test, whatever its outcome. What was registered last runs first. */
export const afterThisTest = (end: End): void => void ofTest.push(end);
/** Runs `end` after the last test of the current file. */
export const afterThisFile = (end: End): void => void ofFile.push(end);

/** Called by test/support/cleanup-processes.ts. */
export const endTest = (): Promise<void> => runAll(ofTest);
export const endFile = (): Promise<void> => runAll(ofFile);
